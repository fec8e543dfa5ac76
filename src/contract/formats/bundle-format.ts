import { z } from 'zod';
import { CHANNELS, type Channel } from '../../domain/release/channel.ts';
import type { Blake3Hex, SnapshotId } from '../../domain/release/digest.ts';
import { MANIFEST_MAX_ENTRIES } from '../../domain/release/manifest.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { blake3, releaseId, snapshotId } from './release-fields.ts';

/**
 * A bundle: one release as an OCI image layout (OCI image specification 1.1, `image-layout.md` and `manifest.md`,
 * "Guidelines for Artifact Usage"). Its layers are the attestation, the release manifest, the list of objects, and packs.
 * The packs, one after the other, are the bytes of the listed objects, one after the other, so that no layer is larger
 * than {@link BUNDLE_PACK_BYTES} whatever the size of an object.
 */
export const BUNDLE_ARTIFACT_TYPE = 'application/vnd.slipway.release.v1';

/** Media types of the layers, in their order; packs follow. */
export const BUNDLE_LAYERS = {
  attestation: 'application/vnd.dsse.envelope.v1+json',
  manifest: 'application/vnd.slipway.manifest.v1+ndjson',
  objects: 'application/vnd.slipway.objects.v1+ndjson',
  pack: 'application/vnd.slipway.pack.v1',
} as const;

export const OCI_MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';
export const OCI_INDEX_TYPE = 'application/vnd.oci.image.index.v1+json';

/** The empty config of an artifact. Source: OCI image specification 1.1, "Guidance for an Empty Descriptor". */
export const OCI_EMPTY_CONFIG = {
  mediaType: 'application/vnd.oci.empty.v1+json',
  digest: 'sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
  size: 2,
} as const;

/** The bytes that {@link OCI_EMPTY_CONFIG} describes. */
export const OCI_EMPTY_CONFIG_TEXT = '{}';

/** Name of a manifest within a layout. Source: OCI image specification 1.1, `annotations.md`. */
const OCI_REF_NAME = 'org.opencontainers.image.ref.name';

/** Annotations of the manifest, for people: a reader believes only signed digests. */
const BUNDLE_ANNOTATIONS = {
  channel: 'dev.slipway.channel',
  release: 'dev.slipway.release',
  snapshot: 'dev.slipway.snapshot',
  since: 'dev.slipway.since',
} as const;

/** Bytes of a pack; the last one is shorter. A whole pack is held in memory while it is written. */
export const BUNDLE_PACK_BYTES = 32 * 1024 * 1024;

/** Longest image manifest, bytes: the bound of registries. Source: OCI distribution specification 1.1, "Pushing Manifests". */
export const OCI_MANIFEST_MAX_BYTES = 4 * 1024 * 1024;

/** Longest line of the list of objects, bytes. */
export const OBJECT_LINE_MAX_BYTES = 1024;

const OBJECTS_FORMAT = 'slipway-objects';
const SHA256 = /^sha256:[0-9a-f]{64}$/;

const count = z.int().min(0);
const releaseName = z.object({ channel: z.enum(CHANNELS), release_id: releaseId, snapshot_id: snapshotId });

/** A release by its name and its content. */
export interface NamedSnapshot {
  readonly channel: Channel;
  readonly release_id: ReleaseId;
  readonly snapshot_id: SnapshotId;
}

const objectListSchema = z.object({
  format: z.literal(OBJECTS_FORMAT),
  version: z.literal(1),
  objects: count.max(MANIFEST_MAX_ENTRIES + 1),
  /** Sum of their sizes, bytes: the sum of the sizes of the packs. */
  bytes: count,
  /** The release whose objects are left out; absent in a bundle that is whole. */
  since: releaseName.optional(),
});

/** Line 1 of the list of objects. */
export interface ObjectListHeader {
  readonly objects: number;
  readonly bytes: number;
  readonly since?: NamedSnapshot | undefined;
}

const objectSchema = z.object({ blake3, size: count });

interface ListedObject {
  readonly blake3: Blake3Hex;
  readonly size: number;
}

const descriptor = z.object({
  mediaType: z.string().max(255),
  digest: z.string().regex(SHA256, 'is not a SHA-256 digest'),
  size: count,
  annotations: z.record(z.string(), z.string()).optional(),
});

/** A blob of a layout or a registry. Source: OCI image specification 1.1, `descriptor.md`. */
export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  readonly size: number;
}

const indexSchema = z.object({
  schemaVersion: z.literal(2),
  manifests: z.array(descriptor).max(1000),
});

const manifestSchema = z.object({
  schemaVersion: z.literal(2),
  mediaType: z.literal(OCI_MANIFEST_TYPE),
  artifactType: z.literal(BUNDLE_ARTIFACT_TYPE),
  layers: z.array(descriptor).min(3),
  annotations: z.looseObject({ [BUNDLE_ANNOTATIONS.snapshot]: z.string() }),
});

export interface BundleLayers {
  readonly attestation: Descriptor;
  readonly manifest: Descriptor;
  readonly objects: Descriptor;
  readonly packs: readonly Descriptor[];
}

/** Renders line 1 of the list of objects, with its line feed. */
export function renderObjectListHeader({ objects, bytes, since }: ObjectListHeader): string {
  const header = { format: OBJECTS_FORMAT, version: 1, objects, bytes, since };
  return `${JSON.stringify(header)}\n`;
}

/** Renders a further line of the list of objects, with its line feed. */
export function renderListedObject({ blake3: digest, size }: ListedObject): string {
  return `${JSON.stringify({ blake3: digest, size })}\n`;
}

/** Parses line 1 of the list of objects. @returns it, or one sentence that says what is wrong */
export function parseObjectListHeader(line: string): Result<ObjectListHeader, string> {
  return parse(objectListSchema, line, 'the list of objects');
}

/** Parses a further line of the list of objects. @returns it, or one sentence that says what is wrong */
export function parseListedObject(line: string): Result<ListedObject, string> {
  return parse(objectSchema, line, 'the list of objects');
}

/** Renders `oci-layout`. */
export function renderOciLayout(): string {
  return JSON.stringify({ imageLayoutVersion: '1.0.0' });
}

const layoutSchema = z.object({ imageLayoutVersion: z.literal('1.0.0') });

/** What is wrong with `oci-layout`, or `null`. */
export function ociLayoutProblem(text: string): string | null {
  const parsed = parse(layoutSchema, text, 'oci-layout');
  return parsed.ok ? null : parsed.error;
}

/** Renders the image manifest of a bundle; the same layers always give the same bytes. */
export function renderBundleManifest(
  layers: BundleLayers,
  { release, since }: { release: NamedSnapshot; since: NamedSnapshot | null },
): string {
  const { attestation, manifest, objects, packs } = layers;
  return JSON.stringify({
    schemaVersion: 2,
    mediaType: OCI_MANIFEST_TYPE,
    artifactType: BUNDLE_ARTIFACT_TYPE,
    config: OCI_EMPTY_CONFIG,
    layers: [attestation, manifest, objects, ...packs].map(({ mediaType, digest, size }) => ({
      mediaType,
      digest,
      size,
    })),
    annotations: {
      [BUNDLE_ANNOTATIONS.channel]: release.channel,
      [BUNDLE_ANNOTATIONS.release]: release.release_id,
      [BUNDLE_ANNOTATIONS.snapshot]: release.snapshot_id,
      ...(since === null ? {} : { [BUNDLE_ANNOTATIONS.since]: since.release_id }),
    },
  });
}

/**
 * Renders `index.json` of a bundle. The name of the manifest is the release id: every release id is also a tag of the
 * OCI distribution specification.
 */
export function renderBundleIndex(manifest: Descriptor, releaseId: ReleaseId): string {
  const { mediaType, digest, size } = manifest;
  return JSON.stringify({
    schemaVersion: 2,
    mediaType: OCI_INDEX_TYPE,
    manifests: [
      {
        mediaType,
        digest,
        size,
        artifactType: BUNDLE_ARTIFACT_TYPE,
        annotations: { [OCI_REF_NAME]: releaseId },
      },
    ],
  });
}

/** Parses `index.json`. @returns its manifests, or one sentence that says what is wrong */
export function parseLayoutIndex(text: string): Result<readonly Descriptor[], string> {
  const parsed = parse(indexSchema, text, 'index.json');
  return parsed.ok
    ? success(parsed.value.manifests.filter(({ mediaType }) => mediaType === OCI_MANIFEST_TYPE))
    : parsed;
}

/**
 * Parses the image manifest of a bundle.
 *
 * @returns its layers by their purpose and the snapshot it says it holds, or one sentence that says why it is not one of
 *   a bundle
 */
export function parseBundleManifest(
  text: string,
): Result<{ readonly layers: BundleLayers; readonly snapshotId: string }, string> {
  const parsed = parse(manifestSchema, text, 'the image manifest');
  if (!parsed.ok) return parsed;
  const [attestation, manifest, objects, ...packs] = parsed.value.layers;
  if (attestation === undefined || manifest === undefined || objects === undefined) {
    return failure('the image manifest has fewer than three layers');
  }
  const types = [attestation, manifest, objects, ...packs].map(({ mediaType }) => mediaType);
  const expected = [
    BUNDLE_LAYERS.attestation,
    BUNDLE_LAYERS.manifest,
    BUNDLE_LAYERS.objects,
    ...packs.map(() => BUNDLE_LAYERS.pack),
  ];
  const wrong = types.findIndex((type, at) => type !== expected[at]);
  return wrong < 0
    ? success({
        layers: { attestation, manifest, objects, packs },
        snapshotId: parsed.value.annotations[BUNDLE_ANNOTATIONS.snapshot],
      })
    : failure(`layer ${wrong} of the image manifest is ${types[wrong] ?? ''}, not ${expected[wrong] ?? ''}`);
}

function parse<T>(schema: z.ZodType<T>, text: string, label: string): Result<T, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return failure(`${label} is not JSON`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return success(parsed.data);
  const [issue] = parsed.error.issues;
  return failure(
    `${label}: ${issue === undefined ? 'invalid' : `${issue.path.join('.')}: ${issue.message}`}`,
  );
}
