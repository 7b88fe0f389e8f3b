$gives float scaled(float x)
float scaled(float x) { return x * factor(); }
