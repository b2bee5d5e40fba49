/** Compares numbers or texts. Unlike a subtraction, it orders infinite numbers. */
export const ascending = <Value extends number | string>(a: Value, b: Value): number =>
  a < b ? -1 : a > b ? 1 : 0
