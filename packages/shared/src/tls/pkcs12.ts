import { createPrivateKey, X509Certificate } from 'node:crypto'
import forge from 'node-forge'
import { deriveKeysNatively } from '../pkcs12/index.ts'
import type { StoreEntries } from './store-entries.ts'

deriveKeysNatively(forge)

/**
 * Returns the entries of a PKCS12 store. A key without a friendly name is named by its number, as with Java's keytool.
 * Throws if the password is wrong or the bytes are not in this format.
 */
export function readPkcs12(bytes: Buffer, password: string): StoreEntries {
  const store = forge.pkcs12.pkcs12FromAsn1(forge.asn1.fromDer(bytes.toString('binary')), false, password)
  const bags = store.safeContents.flatMap(({ safeBags }) => safeBags)
  const certificates = bags.filter(({ type }) => type === forge.pki.oids.certBag).map(certificateOf)
  const entries: Record<string, StoreEntries[string]> = Object.create(null)
  let unnamed = 0
  for (const bag of bags) {
    if (bag.type !== forge.pki.oids.keyBag && bag.type !== forge.pki.oids.pkcs8ShroudedKeyBag) continue
    const [name = String(++unnamed)] = (bag.attributes?.friendlyName ?? []) as string[]
    const key = keyOf(bag)
    const certificate = certificates.find((candidate) => candidate.checkPrivateKey(createPrivateKey(key)))
    entries[name] = { key, ...(certificate ? { cert: String(certificate) } : {}) }
  }
  // The rest are certificates of issuers or trusted certificates; either way, each becomes its own entry.
  certificates.forEach((certificate, index) => {
    entries[`certificate ${index + 1}`] = { ca: String(certificate) }
  })
  return entries
}

/** The library decodes RSA keys and certificates only; it leaves others encoded. */
function keyOf({ key, asn1 }: forge.pkcs12.Bag): string {
  if (key) return forge.pki.privateKeyToPem(key)
  return createPrivateKey({ key: derOf(asn1), format: 'der', type: 'pkcs8' })
    .export({ type: 'pkcs8', format: 'pem' })
    .toString()
}

function certificateOf({ cert, asn1 }: forge.pkcs12.Bag): X509Certificate {
  return new X509Certificate(derOf(cert ? forge.pki.certificateToAsn1(cert) : asn1))
}

const derOf = (asn1: forge.asn1.Asn1): Buffer => Buffer.from(forge.asn1.toDer(asn1).getBytes(), 'binary')
