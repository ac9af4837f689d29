// A library whose constructor goes on in the program that loads it.
void in_constructor(void);

__attribute__((constructor)) static void construct(void) {
  in_constructor();
}
