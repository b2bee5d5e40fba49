/** A heap: gives access to the first of its entries at any time. */
export { Heap } from './heap.ts'
