// The redkite program: arguments, signals, composition.
return 0;
