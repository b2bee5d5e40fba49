/** Key stores and trust stores: the certificate a server shows, and the ones a client trusts. */
export { loadServerIdentity, loadTrustedCertificates, type ServerIdentity } from './key-store.ts'
