/** The interface as a document: OpenAPI made from the endpoints of all servers and stored, and a page to read it. */
export { interfacePage } from './interface-page.ts'
export {
  type OpenApiDocument,
  type OpenApiOperation,
  openApiDocument,
  type ServerEndpoints,
} from './openapi-document.ts'
export { readStoredDocument } from './stored-document.ts'
