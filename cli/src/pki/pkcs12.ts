import { createHmac, randomBytes } from 'node:crypto'
import { deriveKeysNatively } from '@svc/shared/pkcs12'
import forge from 'node-forge'
import type { StoredKey } from './stored-key.ts'

deriveKeysNatively(forge)

const { asn1, pki } = forge
const { Class, Type } = asn1

/** Number of hash iterations for a password; the default of keytool. */
const iterations = 10_000

/** Java trusts a certificate with this attribute, for any purpose. */
const trustedKeyUsage = '2.16.840.1.113894.746875.1.1'
const anyPurpose = '2.5.29.37.0'

/** A PKCS12 store with one key and its chain. */
export function pkcs12KeyStore({ name, key, chain }: StoredKey, password: string): Buffer {
  const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  const store = forge.pkcs12.toPkcs12Asn1(
    pki.privateKeyFromPem(pem),
    chain.map((one) => pki.certificateFromPem(one)),
    password,
    {
      algorithm: 'aes256',
      friendlyName: name,
      count: iterations,
    },
  )
  return Buffer.from(asn1.toDer(store).getBytes(), 'binary')
}

/** A PKCS12 store of trusted certificates by alias. RFC 7292. */
export function pkcs12TrustStore(certificates: Readonly<Record<string, string>>, password: string): Buffer {
  const bags = Object.entries(certificates).map(([name, pem]) =>
    sequence(
      oid(pki.oids.certBag as string),
      tagged(
        sequence(
          oid(pki.oids.x509Certificate as string),
          tagged(octets(asn1.toDer(pki.certificateToAsn1(pki.certificateFromPem(pem))).getBytes())),
        ),
      ),
      set(
        attribute(pki.oids.friendlyName as string, node(Type.BMPSTRING, name)),
        attribute(trustedKeyUsage, oid(anyPurpose)),
      ),
    ),
  )
  const safe = sequence(dataContent(asn1.toDer(sequence(...bags)).getBytes()))
  const bytes = asn1.toDer(safe).getBytes()
  const store = sequence(integer(3), dataContent(bytes), macOf(bytes, password))
  return Buffer.from(asn1.toDer(store).getBytes(), 'binary')
}

function macOf(bytes: string, password: string): forge.asn1.Asn1 {
  const salt = randomBytes(20).toString('binary')
  // Purpose 3 is a key for integrity (RFC 7292 B.3); SHA-1 has 20 bytes.
  const key = forge.pkcs12.generateKey(
    password,
    forge.util.createBuffer(salt),
    3,
    iterations,
    20,
    forge.md.sha1.create(),
  )
  const digest = createHmac('sha1', Buffer.from(key.getBytes(), 'binary'))
    .update(Buffer.from(bytes, 'binary'))
    .digest('binary')
  return sequence(
    sequence(sequence(oid(pki.oids.sha1 as string), node(Type.NULL, '')), octets(digest)),
    octets(salt),
    integer(iterations),
  )
}

const node = (type: forge.asn1.Type, value: string | forge.asn1.Asn1[]): forge.asn1.Asn1 =>
  asn1.create(Class.UNIVERSAL, type, typeof value !== 'string', value)
const sequence = (...value: forge.asn1.Asn1[]) => node(Type.SEQUENCE, value)
const set = (...value: forge.asn1.Asn1[]) => node(Type.SET, value)
const octets = (bytes: string) => node(Type.OCTETSTRING, bytes)
const oid = (name: string) => node(Type.OID, asn1.oidToDer(name).getBytes())
const integer = (value: number) => node(Type.INTEGER, asn1.integerToDer(value).getBytes())
const tagged = (value: forge.asn1.Asn1) => asn1.create(Class.CONTEXT_SPECIFIC, 0, true, [value])
const attribute = (name: string, value: forge.asn1.Asn1) => sequence(oid(name), set(value))
const dataContent = (bytes: string) => sequence(oid(pki.oids.data as string), tagged(octets(bytes)))
