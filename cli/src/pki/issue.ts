import { constants, type KeyObject, privateEncrypt, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'
import forge from 'node-forge'

/** A certificate authority with its signing key. */
export interface Authority {
  readonly certificatePem: string
  readonly key: KeyObject
}

/** The validity of a certificate, in epoch milliseconds. */
export interface Validity {
  readonly notBefore: number
  readonly notAfter: number
}

/** The contents of a certificate. */
export interface CertificateContent extends Validity {
  readonly publicKey: KeyObject
  readonly name: string
  readonly hosts: readonly string[]
}

/** A self-signed certificate of an authority, PEM. */
export function issueAuthority(
  content: Validity & { publicKey: KeyObject; privateKey: KeyObject; name?: string },
): string {
  const certificate = blank(content.publicKey, content)
  const subject = [{ name: 'commonName', value: content.name ?? 'svc development authority' }]
  certificate.setSubject(subject)
  certificate.setIssuer(subject)
  // It may sign servers, and authorities that sign servers.
  certificate.setExtensions(authorityExtensions(1))
  return signed(certificate, content.privateKey)
}

/** The certificate of an intermediate authority, PEM. */
export function issueIntermediate(
  authority: Authority,
  content: Validity & { publicKey: KeyObject; name: string },
): string {
  const certificate = blank(content.publicKey, content)
  const issuer = forge.pki.certificateFromPem(authority.certificatePem)
  certificate.setSubject([{ name: 'commonName', value: content.name }])
  certificate.setIssuer(issuer.subject.attributes)
  certificate.setExtensions([...authorityExtensions(0), issuerIdentifier(issuer)])
  return signed(certificate, authority.key)
}

const authorityExtensions = (pathLength: number): object[] => [
  { name: 'basicConstraints', cA: true, pathLenConstraint: pathLength, critical: true },
  { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
  { name: 'subjectKeyIdentifier' },
]

const issuerIdentifier = (issuer: forge.pki.Certificate): object => ({
  name: 'authorityKeyIdentifier',
  keyIdentifier: issuer.generateSubjectKeyIdentifier().getBytes(),
})

/** The certificate of one server, PEM. */
export function issueCertificate(authority: Authority, content: CertificateContent): string {
  const certificate = blank(content.publicKey, content)
  const issuer = forge.pki.certificateFromPem(authority.certificatePem)
  certificate.setSubject([{ name: 'commonName', value: content.name }])
  certificate.setIssuer(issuer.subject.attributes)
  certificate.setExtensions([
    { name: 'basicConstraints', cA: false, critical: true },
    { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
    { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
    { name: 'subjectAltName', altNames: content.hosts.map(alternativeName) },
    { name: 'subjectKeyIdentifier' },
    issuerIdentifier(issuer),
  ])
  return signed(certificate, authority.key)
}

/** A certificate that was revoked, and when (epoch milliseconds). */
export interface Revocation {
  /** Hexadecimal. */
  readonly serial: string
  readonly at: number
}

/** The certificate revocation list of an authority, PEM. RFC 5280 section 5. */
export function issueRevocationList(
  authority: Authority,
  content: { readonly revoked: readonly Revocation[]; readonly from: number; readonly until: number },
): string {
  const { asn1, pki } = forge
  const { Class, Type } = asn1
  const node = (type: forge.asn1.Type, value: string | forge.asn1.Asn1[]) =>
    asn1.create(Class.UNIVERSAL, type, typeof value !== 'string', value)
  const sequence = (...value: forge.asn1.Asn1[]) => node(Type.SEQUENCE, value)
  // RFC 5280 requires UTCTime for dates through 2049.
  const time = (at: number) => node(Type.UTCTIME, asn1.dateToUtcTime(new Date(at)) as unknown as string)
  const issuer = pki.certificateFromPem(authority.certificatePem)
  const algorithm = sequence(
    node(Type.OID, asn1.oidToDer(pki.oids.sha256WithRSAEncryption as string).getBytes()),
    node(Type.NULL, ''),
  )
  const entries = content.revoked.map(({ serial, at }) =>
    sequence(node(Type.INTEGER, integerBytes(serial)), time(at)),
  )
  const list = sequence(
    node(Type.INTEGER, asn1.integerToDer(1).getBytes()),
    algorithm,
    pki.distinguishedNameToAsn1(issuer.subject),
    time(content.from),
    time(content.until),
    ...(entries.length > 0 ? [sequence(...entries)] : []),
  )
  const bytes = Buffer.from(asn1.toDer(list).getBytes(), 'binary')
  const signature = sign('sha256', bytes, authority.key).toString('binary')
  const signedList = asn1.toDer(sequence(list, algorithm, node(Type.BITSTRING, `\0${signature}`)))
  return forge.pem
    .encode({ type: 'X509 CRL', body: signedList.getBytes() } as forge.pem.ObjectPEM)
    .replaceAll('\r\n', '\n')
}

/** The bytes of a positive number, with a leading zero byte if the first bit is set. */
function integerBytes(hexadecimal: string): string {
  const bytes = Buffer.from(hexadecimal.length % 2 === 0 ? hexadecimal : `0${hexadecimal}`, 'hex')
  return (bytes[0]! > 0x7f ? '\0' : '') + bytes.toString('binary')
}

function blank(publicKey: KeyObject, validity: Validity): forge.pki.Certificate {
  const certificate = forge.pki.createCertificate()
  certificate.publicKey = forge.pki.publicKeyFromPem(
    publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  )
  // The number must be positive, so the first bit is cleared.
  const serial = randomBytes(16)
  serial[0]! &= 0x7f
  certificate.serialNumber = serial.toString('hex')
  certificate.validity.notBefore = new Date(validity.notBefore)
  certificate.validity.notAfter = new Date(validity.notAfter)
  return certificate
}

// RFC 5280 §4.2.1.6: a name is kind 2, an address kind 7.
function alternativeName(host: string): object {
  return isIP(host) ? { type: 7, ip: host } : { type: 2, value: host }
}

/** RFC 8017 §9.2, note 1: the prefix of a SHA-256 digest in a signature. */
const sha256DigestInfo = Buffer.from('3031300d060960864801650304020105000420', 'hex')

/** Signs with the system's cryptography, which is many times faster than the library's own. */
function signed(certificate: forge.pki.Certificate, key: KeyObject): string {
  const signer = {
    sign(message: forge.md.MessageDigest): string {
      const digest = Buffer.from(message.digest().getBytes(), 'binary')
      const padding = constants.RSA_PKCS1_PADDING
      return privateEncrypt({ key, padding }, Buffer.concat([sha256DigestInfo, digest])).toString('binary')
    },
  }
  certificate.sign(signer as forge.pki.rsa.PrivateKey, forge.md.sha256.create())
  return forge.pki.certificateToPem(certificate).replaceAll('\r\n', '\n')
}
