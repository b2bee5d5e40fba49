/** How a server runs from its first to its last moment, whatever its role. */
export { directoryPath, directoryWaitMs } from './directory-source.ts'
export { runService, type ServiceContext, type ServicePart } from './run-service.ts'
