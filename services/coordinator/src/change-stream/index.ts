/** What changes in the cluster, for pages that follow it: a feed of events, and the inventory with its updates. */
export { type ChangeFeed, type Changes, type ChangeTopic, createChangeFeed } from './change-feed.ts'
export { createEventWriter, type EventWriter } from './event-writer.ts'
export { createInventories, type Inventories } from './inventories.ts'
export { StreamLimit } from './stream-limit.ts'
