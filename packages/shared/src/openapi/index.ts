/** The API as an OpenAPI document, generated from the endpoints of all servers, and as an HTML page. */
export { interfacePage } from './interface-page.ts'
export { type OpenApiOperation, openApiDocument, type ServerEndpoints } from './openapi-document.ts'
export { readStoredDocument } from './stored-document.ts'
