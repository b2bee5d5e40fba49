import { constants, type KeyObject, privateEncrypt, randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import forge from 'node-forge'

/** An authority that signs. */
export interface Authority {
  readonly certificatePem: string
  readonly key: KeyObject
}

/** From when to when a certificate holds, in epoch milliseconds. */
interface Validity {
  readonly notBefore: number
  readonly notAfter: number
}

/** What one certificate says. */
interface CertificateContent extends Validity {
  readonly publicKey: KeyObject
  readonly name: string
  readonly hosts: readonly string[]
}

/** A certificate that signs itself and may sign others, PEM. */
export function issueAuthority(content: Validity & { publicKey: KeyObject; privateKey: KeyObject }): string {
  const certificate = blank(content.publicKey, content)
  const subject = [{ name: 'commonName', value: 'svc development authority' }]
  certificate.setSubject(subject)
  certificate.setIssuer(subject)
  certificate.setExtensions([
    // May sign servers, but no further authority.
    { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
    { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    { name: 'subjectKeyIdentifier' },
  ])
  return signed(certificate, content.privateKey)
}

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
    { name: 'authorityKeyIdentifier', keyIdentifier: issuer.generateSubjectKeyIdentifier().getBytes() },
  ])
  return signed(certificate, authority.key)
}

function blank(publicKey: KeyObject, validity: Validity): forge.pki.Certificate {
  const certificate = forge.pki.createCertificate()
  certificate.publicKey = forge.pki.publicKeyFromPem(
    publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  )
  // A positive number: the first bit is none.
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

/** RFC 8017 §9.2, note 1: what stands before a SHA-256 digest in a signature. */
const SHA256_DIGEST_INFO = Buffer.from('3031300d060960864801650304020105000420', 'hex')

/** Signs with the system's cryptography, which is many times faster than the library's own. */
function signed(certificate: forge.pki.Certificate, key: KeyObject): string {
  const signer = {
    sign(message: forge.md.MessageDigest): string {
      const digest = Buffer.from(message.digest().getBytes(), 'binary')
      const padding = constants.RSA_PKCS1_PADDING
      return privateEncrypt({ key, padding }, Buffer.concat([SHA256_DIGEST_INFO, digest])).toString('binary')
    },
  }
  certificate.sign(signer as forge.pki.rsa.PrivateKey, forge.md.sha256.create())
  return forge.pki.certificateToPem(certificate).replaceAll('\r\n', '\n')
}
