//! The words that the distribution `words` strings together: plain English, so that the text compresses as prose does.

/// A word is drawn uniformly from these.
#[rustfmt::skip]
pub(super) const WORDS: [&str; 252] = [
    "able", "account", "active", "advice", "again", "agree", "along", "always", "amber", "among", "anchor", "answer",
    "apple", "april", "arrow", "autumn", "awake", "badge", "balance", "basket", "beacon", "before", "bench", "better",
    "bicycle", "board", "border", "bottle", "branch", "bread", "bridge", "bright", "brush", "bucket", "button", "cable",
    "camera", "candle", "canvas", "carbon", "carpet", "castle", "ceramic", "chair", "change", "charge", "chestnut",
    "circle", "citrus", "clear", "clever", "cloud", "coast", "coffee", "collar", "colour", "common", "compact",
    "copper", "corner", "cotton", "cover", "cream", "credit", "crystal", "current", "curtain", "dance", "deep",
    "delivery", "design", "detail", "dinner", "direct", "double", "dozen", "dream", "durable", "early", "earth", "east",
    "easy", "edge", "electric", "elegant", "engine", "evening", "every", "fabric", "factory", "family", "feather",
    "field", "filter", "finish", "fire", "flexible", "floor", "flower", "folding", "forest", "frame", "fresh", "garden",
    "gentle", "glass", "golden", "grain", "granite", "green", "guitar", "hammer", "handle", "harbour", "hazel", "heavy",
    "helmet", "honest", "hotel", "house", "ice", "indoor", "iron", "island", "jacket", "journey", "kettle", "kitchen",
    "ladder", "lamp", "large", "leather", "letter", "level", "light", "linen", "liquid", "little", "long", "lunar",
    "magnet", "maple", "marble", "market", "matter", "meadow", "medium", "metal", "middle", "mirror", "modern",
    "morning", "motor", "mountain", "narrow", "natural", "needle", "night", "noble", "north", "novel", "number",
    "ocean", "office", "olive", "open", "orange", "organic", "outdoor", "oven", "paint", "panel", "paper", "pearl",
    "pencil", "pepper", "piano", "picture", "pillow", "planet", "plastic", "pocket", "portable", "powder", "practical",
    "premium", "quality", "quick", "quiet", "rabbit", "radio", "railway", "rapid", "ribbon", "river", "robust", "rough",
    "round", "saddle", "safety", "sample", "scissors", "season", "secure", "shadow", "shelf", "silver", "simple",
    "single", "small", "smooth", "solid", "south", "spring", "square", "stable", "station", "steady", "steel", "stone",
    "storage", "strong", "studio", "summer", "super", "table", "tablet", "tender", "timber", "tower", "travel", "trust",
    "tunnel", "urban", "useful", "valley", "velvet", "village", "violet", "walnut", "warm", "water", "weather", "wheel",
    "white", "wide", "window", "winter", "wire", "wood", "wool", "yellow",
];
