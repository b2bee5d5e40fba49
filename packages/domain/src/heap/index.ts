/** A heap: of the entries that were put in, the first is always at hand. */
export { Heap } from './heap.ts'
