// The search takes a word with "-" before it for one to leave out, so an option is looked for by its name: --inject as inject.
document.addEventListener("input", ({ target }) => {
  if (target.matches(".md-search__input")) {
    const words = target.value.replace(/(^|\s)-+/g, "$1");
    if (words !== target.value) target.value = words;
  }
}, true);
