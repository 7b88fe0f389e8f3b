$gives float scaled(float x) { return x * problem.factor; }
