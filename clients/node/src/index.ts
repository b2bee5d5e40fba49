/** A svc cluster in a container, for tests with Testcontainers. */
export { StartedSvcContainer, SvcContainer } from './svc-container.ts'
