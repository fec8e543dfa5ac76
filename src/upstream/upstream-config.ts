import * as z from 'zod';
import { SERVER_INFO_FILE } from '../contract/formats/release-file-format.ts';
import { CHANNELS } from '../domain/release/channel.ts';
import { MANIFEST_MAX_ENTRIES } from '../domain/release/manifest.ts';
import { globSchema } from '../platform/config/glob-schema.ts';
import { isAddressRange } from './private-addresses.ts';
import { bucketAdvice, redactUrl } from './upstream-location.ts';

const GIBIBYTE = 1024 ** 3;

const fileName = z
  .string()
  .min(1)
  .max(255)
  .regex(/^(?!\.{1,2}$)[^/\\]+$/, 'must be a file name without a slash');

/** An absolute http(s) URL without query and fragment; userinfo is allowed and is never logged. */
const rootUrl = z.string().refine(isRootUrl, {
  error: ({ input }) =>
    bucketAdvice(String(input)) ?? 'must be an absolute http:// or https:// URL without query and fragment',
});

const directorySection = z
  .strictObject({
    path: z.string().min(1).describe('Root of the tree.'),
    releaseId: z
      .string()
      .min(1)
      .optional()
      .describe('Release id to use instead of the one in release.json or the one derived from the listing.'),
    serverInfoFile: fileName
      .default(SERVER_INFO_FILE)
      .describe(
        'Name of the server-info document at the root; it belongs to the release but is not an entry.',
      ),
  })
  .describe('A local tree of files.');

const manifestSection = z
  .strictObject({
    url: rootUrl.describe('Root URL of release.json and the files.'),
    allowOtherOrigins: z
      .boolean()
      .default(false)
      .describe('Whether entries and redirects may lead to an origin other than that of the root.'),
  })
  .describe('A manifest document and files over HTTP.');

const serverInfoSection = z
  .strictObject({
    url: rootUrl.describe('The server-info document.'),
    overrideName: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Name of the override group to follow; default: the last one of the first connection group that has any.',
      ),
    appVersion: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe('The version that clients show; also the prefix of the release id.'),
    platforms: z
      .array(z.string().regex(/^[A-Za-z0-9]+$/, 'must be letters and digits'))
      .min(1)
      .max(16)
      .default(['Android', 'iOS'])
      .describe("Platforms whose catalogs are read, spelled as in upstream's paths."),
    requiredCatalogs: z
      .array(z.string().min(1))
      .max(32)
      .default(['table-catalog', 'media-catalog', 'bundle-packing-info'])
      .describe('Catalog readers whose catalogs must exist.'),
    optionalCatalogs: z
      .array(z.string().min(1))
      .max(32)
      .default([])
      .describe('Catalog readers whose catalogs are optional.'),
    additionalPaths: z
      .array(z.string().min(1).max(1024))
      .max(1000)
      .default([])
      .describe('Files of the release below the root that no catalog lists.'),
    allowOtherOrigins: z
      .boolean()
      .default(false)
      .describe(
        'Whether redirects may lead to an origin other than the requested one. The root in the document may have any origin.',
      ),
  })
  .describe('A server-info document and the catalogs below the root it names.');

const mirroredChannels = z
  .array(z.enum(CHANNELS))
  .min(1)
  .max(CHANNELS.length)
  .refine((channels) => channels.includes('official'), 'must have official, the base of localized releases')
  .default([...CHANNELS])
  .describe('Channels that are mirrored.');

const DAY_SECONDS = 86_400;
const YEAR_SECONDS = 366 * DAY_SECONDS;
/** A bundle is carried by people, some times a year. */
const BUNDLE_AGE_SECONDS = 90 * DAY_SECONDS;
/** A registry is a service on the network, and a new attestation of the same release is a push of a few kilobytes. */
const REGISTRY_AGE_SECONDS = 30 * DAY_SECONDS;

const slipwaySection = z
  .strictObject({
    url: rootUrl.describe('Base URL of the origin.'),
    trustedKeys: z
      .array(z.string().min(1).max(4096))
      .min(1)
      .max(16)
      .describe(
        'Files with the Ed25519 public keys of the origin (PEM), or folders of *.pub and *.pem; read again for every attestation.',
      ),
    channels: mirroredChannels,
    pollSeconds: z
      .int()
      .min(1)
      .max(3600)
      .default(5)
      .describe('Time between two polls of the origin: one small conditional request for all channels.'),
    maxAttestationAgeSeconds: z
      .int()
      .min(10)
      .max(YEAR_SECONDS)
      .default(DAY_SECONDS)
      .describe('How long a release is served after the last attestation of the origin that names it.'),
    tokenFile: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'File with the token that the origin wants on its public routes; read again when it changes.',
      ),
    allowOtherOrigins: z
      .boolean()
      .default(false)
      .describe('Whether redirects may lead to an origin other than that of the URL.'),
  })
  .describe('Another Slipway: this one is an edge of it and keeps its release ids.');

const carriedAge = (usual: number): z.ZodDefault<z.ZodInt> =>
  z
    .int()
    .min(60)
    .max(YEAR_SECONDS)
    .default(usual)
    .describe(
      'How long a release is served after the last attestation that names it was signed. A daemon without a memory can be shown a release of this age.',
    );

const bundleSection = z
  .strictObject({
    path: z.string().min(1).max(4096).describe('Folder into which slipway import puts bundles.'),
    trustedKeys: z
      .array(z.string().min(1).max(4096))
      .min(1)
      .max(16)
      .describe(
        'Files with the Ed25519 public keys of the Slipway that exports (PEM), or folders of *.pub and *.pem; read again for every attestation.',
      ),
    channels: mirroredChannels,
    pollSeconds: z.int().min(1).max(3600).default(5).describe('Time between two polls of the folder.'),
    maxAttestationAgeSeconds: carriedAge(BUNDLE_AGE_SECONDS),
  })
  .describe('Bundles that were carried here: releases of another Slipway, whose release ids are kept.');

const ociSection = z
  .strictObject({
    url: rootUrl.describe(
      'Base URL of the registry; a name and a password in it are sent to the registry or its token service.',
    ),
    repository: z
      .string()
      .max(255)
      .regex(
        /^[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$/,
        'must be the name of a repository',
      )
      .describe('Repository with the bundles.'),
    tags: z
      .array(z.string().regex(/^\w[\w.-]{0,127}$/, 'must be a tag'))
      .min(1)
      .max(16)
      .describe('Tags that are followed; each holds one bundle.'),
    trustedKeys: bundleSection.shape.trustedKeys,
    channels: mirroredChannels,
    pollSeconds: z
      .int()
      .min(1)
      .max(3600)
      .default(60)
      .describe('Time between two looks: one HEAD request a tag.'),
    maxAttestationAgeSeconds: carriedAge(REGISTRY_AGE_SECONDS),
    tokenService: z
      .string()
      .refine(isOrigin, 'must be an origin such as https://auth.example.net')
      .optional()
      .describe(
        'Origin of the token service of the registry, where it is not that of the registry. It gets the name and the password.',
      ),
    allowOtherOrigins: z
      .boolean()
      .default(true)
      .describe(
        'Whether redirects may lead to another origin, as those of many registries to their storage do; without a name and a password also the token service.',
      ),
  })
  .refine(({ url, tokenService }) => !(url.startsWith('https:') && tokenService?.startsWith('http:')), {
    path: ['tokenService'],
    message: 'must be https, as the registry is',
  })
  .describe('Bundles in a repository of an OCI registry.');

/** The section that each kind of upstream needs, and the setting in it that has no default. */
export const UPSTREAM_KINDS = {
  directory: { section: 'directory', setting: 'path' },
  manifest: { section: 'manifest', setting: 'url' },
  'server-info': { section: 'serverInfo', setting: 'url' },
  slipway: { section: 'slipway', setting: 'url' },
  bundle: { section: 'bundle', setting: 'path' },
  oci: { section: 'oci', setting: 'url' },
} as const;

/** Kinds whose releases are copied as somebody else signed them. */
const SIGNED_KINDS: ReadonlySet<string> = new Set(['slipway', 'bundle', 'oci']);

export const upstreamConfigurationSchema = z
  .strictObject({
    kind: z
      .enum(['none', 'directory', 'manifest', 'server-info', 'slipway', 'bundle', 'oci'])
      .default('none')
      .describe('The kind of upstream that releases come from; none disables syncing.'),
    directory: directorySection.optional(),
    manifest: manifestSection.optional(),
    serverInfo: serverInfoSection.optional(),
    slipway: slipwaySection.optional(),
    bundle: bundleSection.optional(),
    oci: ociSection.optional(),
    allowedPrivateRanges: z
      .array(z.string().refine(isAddressRange, { message: 'must be an address range such as 10.20.0.0/16' }))
      .max(64)
      .default([])
      .describe('Private address ranges (CIDR) that origins other than the configured one may have.'),
    exclude: z
      .array(globSchema)
      .max(1000)
      .default([])
      .describe(
        'Globs of files of a catalog that are left out on purpose; the attestation states how many. Not for copies of another Slipway, which stay as they were signed.',
      ),
    concurrency: z
      .int()
      .min(1)
      .max(64)
      .default(8)
      .describe('Maximum number of concurrent downloads and of connections to one origin.'),
    maxAttempts: z
      .int()
      .min(1)
      .max(20)
      .default(5)
      .describe('Attempts in a row that may bring a file no further before its task fails.'),
    backoffBaseMs: z
      .int()
      .min(1)
      .max(60_000)
      .default(500)
      .describe(
        'First upper bound of the random wait between attempts, milliseconds; it doubles with each attempt.',
      ),
    backoffCapMs: z
      .int()
      .min(1)
      .max(600_000)
      .default(30_000)
      .describe('Upper bound of that wait, milliseconds.'),
    connectTimeoutMs: z
      .int()
      .min(1)
      .max(300_000)
      .default(10_000)
      .describe('Maximum wait for a connection, milliseconds.'),
    headersTimeoutMs: z
      .int()
      .min(1)
      .max(600_000)
      .default(30_000)
      .describe('Maximum wait for the head of an answer, milliseconds.'),
    stallTimeoutMs: z
      .int()
      .min(1)
      .max(600_000)
      .default(30_000)
      .describe('Maximum wait for the next bytes of a body, milliseconds.'),
    minimumBytesPerSecond: z
      .int()
      .min(0)
      .max(100 * 1024 * 1024)
      .default(1024)
      .describe(
        'A body slower than this over a whole stall timeout counts as stalled; 0 turns the check off.',
      ),
    maxEntries: z
      .int()
      .min(1)
      .max(MANIFEST_MAX_ENTRIES)
      .default(MANIFEST_MAX_ENTRIES)
      .describe('Maximum number of entries of one release.'),
    maxCatalogBytes: z
      .int()
      .min(1024)
      .max(GIBIBYTE)
      .default(GIBIBYTE)
      .describe('Largest catalog document, bytes.'),
    maxFileBytes: z
      .int()
      .min(1)
      .max(1024 * GIBIBYTE)
      .default(16 * GIBIBYTE)
      .describe('Largest file whose size no catalog states, such as a file beside a catalog, bytes.'),
  })
  .superRefine((value, context) => {
    if (value.kind === 'none') return;
    if (value.exclude.length > 0 && SIGNED_KINDS.has(value.kind)) {
      context.addIssue({
        code: 'custom',
        path: ['exclude'],
        message: `leaves nothing out with kind "${value.kind}": its releases are copied as they were signed; exclude files where they are made`,
      });
    }
    const { section, setting } = UPSTREAM_KINDS[value.kind];
    if (value[section] === undefined) {
      context.addIssue({
        code: 'custom',
        path: [section],
        message: `is missing: kind is "${value.kind}", so ${section}.${setting} must be set`,
      });
    }
  });

export type UpstreamConfiguration = z.output<typeof upstreamConfigurationSchema>;

export type DirectoryConfiguration = z.output<typeof directorySection>;

export type ManifestConfiguration = z.output<typeof manifestSection>;

export type SlipwayConfiguration = z.output<typeof slipwaySection>;

export type OciConfiguration = z.output<typeof ociSection>;

export type BundleConfiguration = z.output<typeof bundleSection>;

export type ServerInfoConfiguration = z.output<typeof serverInfoSection>;

/**
 * Where the releases of the localized channel are copied from, without credentials.
 *
 * @returns `null` when nothing is copied, so that texts are written here
 */
export function originOfLocalized({ kind, slipway, bundle, oci }: UpstreamConfiguration): string | null {
  const isCopied = (section: { readonly channels: readonly string[] } | undefined): boolean =>
    section?.channels.includes('localized') === true;
  if (kind === 'slipway' && isCopied(slipway)) return redactUrl(slipway?.url ?? '');
  if (kind === 'bundle' && isCopied(bundle)) return `bundles in ${bundle?.path}`;
  if (kind === 'oci' && isCopied(oci)) return `${redactUrl(oci?.url ?? '')} (${oci?.repository})`;
  return null;
}

function isRootUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.search === '' && url.hash === '';
}

function isOrigin(text: string): boolean {
  return isRootUrl(text) && new URL(text).href === `${new URL(text).origin}/`;
}
