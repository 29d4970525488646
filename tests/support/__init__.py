"""What tests of several folders share: samples, fake twins, private servers, and plug-ins of pytest."""
