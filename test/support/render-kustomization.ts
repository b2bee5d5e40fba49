import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parse, parseAllDocuments } from 'yaml'

/** The parts of a manifest that tests read. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly [field: string]: unknown
}

/** Kubernetes reads YAML 1.1, in which 0440 is octal. */
const yamlOfKubernetes = { version: '1.1' } as const

interface Generator {
  readonly name: string
  readonly envs?: readonly string[]
  readonly files?: readonly string[]
}

interface Kustomization {
  readonly namespace: string
  readonly resources: readonly string[]
  readonly patches: readonly { readonly path: string; readonly target: { readonly kind: string } }[]
  readonly images: readonly { readonly name: string; readonly newName: string; readonly newTag: string }[]
  readonly configMapGenerator: readonly Generator[]
  readonly secretGenerator: readonly Generator[]
}

/**
 * Returns the manifests of a kustomization. Supports only what ours use: resources, strategic patches by
 * kind, images, generators (without the hash that kustomize adds to the names), and one namespace for all.
 */
export function renderKustomization(folder: string): readonly Manifest[] {
  const read = (name: string) => readFileSync(path.join(folder, name), 'utf8')
  const kustomization = parse(read('kustomization.yaml'), yamlOfKubernetes) as Kustomization
  const { namespace, resources, patches, images } = kustomization
  const plain = resources.flatMap((file) =>
    parseAllDocuments(read(file), yamlOfKubernetes).map((document) => document.toJS() as Manifest),
  )
  const patched = plain.map((manifest) => {
    const fitting = patches.filter(({ target }) => target.kind === manifest.kind)
    const merged = fitting.reduce<unknown>(
      (sum, { path: file }) => merge(sum, parse(read(file), yamlOfKubernetes)),
      manifest,
    )
    return { ...(merged as Manifest), metadata: manifest.metadata }
  })
  const configMaps = kustomization.configMapGenerator.map(({ name, envs = [] }) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: Object.fromEntries(envs.flatMap((file) => entriesOf(read(file)))),
  }))
  const secrets = kustomization.secretGenerator.map(({ name, files = [] }) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    type: 'Opaque',
    data: Object.fromEntries(
      files.map((entry) => {
        const [key, file = key] = entry.split('=') as [string, string?]
        return [path.basename(key), readFileSync(path.join(folder, file)).toString('base64')]
      }),
    ),
  }))
  const withImages = JSON.stringify([...patched, ...configMaps, ...secrets], (key, value) => {
    const image = key === 'image' && images.find(({ name }) => name === value)
    return image ? `${image.newName}:${image.newTag}` : value
  })
  return (JSON.parse(withImages) as Manifest[]).map((manifest) =>
    manifest.kind === 'Namespace'
      ? manifest
      : {
          ...manifest,
          metadata: { ...manifest.metadata, namespace: manifest.metadata.namespace ?? namespace },
        },
  )
}

/** Parses the `name=value` lines of a properties file. */
function entriesOf(text: string): [string, string][] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])
}

// The keys that identify the entries of a list in a patch; other lists are replaced.
const mergeKeys = ['mountPath', 'containerPort', 'name'] as const

/** Applies a strategic merge patch: maps key by key, lists of named entries entry by entry. */
function merge(base: unknown, patch: unknown): unknown {
  if (Array.isArray(base) && Array.isArray(patch)) {
    const key = mergeKeys.find((name) => patch.every((entry) => isMap(entry) && name in entry))
    if (key === undefined) return patch
    const of = (list: readonly Record<string, unknown>[], value: unknown) =>
      list.find((entry) => entry[key] === value)
    const added = patch.filter((entry) => !of(base, entry[key]))
    const merged = base.map((entry) => {
      const change = of(patch, entry[key])
      return change ? merge(entry, change) : entry
    })
    return [...added, ...merged]
  }
  if (!isMap(base) || !isMap(patch)) return patch
  const names = new Set([...Object.keys(base), ...Object.keys(patch)])
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      !(name in patch) ? base[name] : !(name in base) ? patch[name] : merge(base[name], patch[name]),
    ]),
  )
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
