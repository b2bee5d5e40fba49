/** Previews of what a rule change would do to the current cluster. They are computed in slices and never applied. */
export { changedSegments, type LiveState, liveCluster, liveServers } from './live-cluster.ts'
export { createPreviews, type Previews } from './previews.ts'
export { rulesPreviewShape } from './rules-preview-shape.ts'
