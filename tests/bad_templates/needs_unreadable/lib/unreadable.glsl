$needs a factor, please
float scaled(float x) { return x * factor(); }
