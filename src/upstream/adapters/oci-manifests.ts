import { z } from 'zod';
import {
  BUNDLE_ARTIFACT_TYPE,
  OCI_INDEX_TYPE,
  OCI_MANIFEST_TYPE,
} from '../../contract/formats/bundle-format.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { quoteText } from '../upstream-location.ts';

/** Images and lists of images as Docker had them before the OCI image specification. */
const DOCKER_TYPES: ReadonlyMap<string, string> = new Map([
  ['application/vnd.docker.distribution.manifest.v2+json', 'a Docker image'],
  ['application/vnd.docker.distribution.manifest.v1+json', 'a Docker image of the oldest format'],
  ['application/vnd.docker.distribution.manifest.v1+prettyjws', 'a Docker image of the oldest format'],
  ['application/vnd.docker.distribution.manifest.list.v2+json', 'a list of Docker images'],
]);

/** What a tag may lead to: everything that can be named, because registries answer 404 for types that were not asked for. */
export const ANY_MANIFEST = {
  accept: [OCI_MANIFEST_TYPE, OCI_INDEX_TYPE, ...DOCKER_TYPES.keys()].join(', '),
} as const;

const documentSchema = z.object({
  mediaType: z.string().max(255).optional(),
  artifactType: z.string().max(255).optional(),
  config: z.object({ mediaType: z.string().max(255) }).optional(),
  manifests: z
    .array(z.object({ mediaType: z.string().max(255), digest: z.string().regex(/^sha256:[0-9a-f]{64}$/) }))
    .max(1000)
    .optional(),
});

const REMEDY = 'push a bundle under this tag, as slipway export --format oci wrote it, or follow another one';

/**
 * Finds out where a document of a registry leads.
 *
 * @param contentType how the registry names it, or `null`
 * @returns `null` when it is the manifest of a bundle, the digest of the manifest when it is an index of one, or what it is in words
 */
export function leadOf(bytes: Buffer, contentType: string | null): Result<string | null, string> {
  const parsed = documentSchema.safeParse(parseJson(bytes));
  if (!parsed.success) return failure(`something that is no manifest; ${REMEDY}`);
  const { mediaType, artifactType, config, manifests } = parsed.data;
  const type = mediaType ?? contentType?.replace(/;.*$/, '').trim() ?? OCI_MANIFEST_TYPE;
  const docker = DOCKER_TYPES.get(type);
  if (docker !== undefined) return failure(`${docker} (${type}), which is not a bundle; ${REMEDY}`);
  if (type === OCI_INDEX_TYPE || manifests !== undefined) {
    const [only, ...others] = manifests ?? [];
    if (only === undefined) return failure(`an empty index; ${REMEDY}`);
    if (others.length > 0)
      return failure(`an index of ${others.length + 1} manifests, of which none is chosen; ${REMEDY}`);
    return success(only.digest);
  }
  if (type === OCI_MANIFEST_TYPE && artifactType !== BUNDLE_ARTIFACT_TYPE) {
    const found = artifactType ?? config?.mediaType ?? 'no type';
    return failure(`an image or artifact of the type ${quoteText(found)}, which is not a bundle; ${REMEDY}`);
  }
  return success(null);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
}
