/** Slots: how much work runs at the same time. */
export { createSlots, type Slots } from './slots.ts'
