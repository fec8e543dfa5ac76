import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { RELEASE_FILE } from '../../contract/formats/release-file-format.ts';
import {
  parseStaticMirror,
  STATIC_MIRROR_FILE,
  STATIC_MIRROR_FOLDERS,
  STATIC_MIRROR_MAX_BYTES,
} from '../../contract/formats/static-mirror-format.ts';
import { readBoundedFile } from '../../platform/files/files.ts';
import { BundleError } from '../bundle/bundle-error.ts';
import type { StaticPlan } from './static-plan.ts';

/** The folder of files that are being written. */
export const UNFINISHED = '.unfinished';

const OWN_NAMES: ReadonlySet<string> = new Set([
  ...STATIC_MIRROR_FOLDERS,
  RELEASE_FILE,
  STATIC_MIRROR_FILE,
  UNFINISHED,
]);

/**
 * Makes the folder of a static mirror, or checks that it is one, or one that an export began.
 *
 * @throws BundleError when it holds other files, or a release of another channel; the file system error
 */
export async function requireStaticFolder(directory: string, { release }: StaticPlan): Promise<void> {
  await mkdir(directory, { recursive: true });
  const names = await readdir(directory);
  if (!names.includes(STATIC_MIRROR_FILE)) {
    const foreign = names.find((name) => !OWN_NAMES.has(name));
    if (foreign === undefined) return;
    throw new BundleError(
      `${directory} is no static mirror: it holds ${foreign} and no ${STATIC_MIRROR_FILE}; name an empty folder, or one that an export wrote`,
    );
  }
  const text = await readBoundedFile(join(directory, STATIC_MIRROR_FILE), STATIC_MIRROR_MAX_BYTES);
  const mirror = parseStaticMirror(text.toString('utf8'));
  if (mirror?.ok !== true) {
    const why = mirror === null ? 'it is of something else' : mirror.error;
    throw new BundleError(
      `${join(directory, STATIC_MIRROR_FILE)} cannot be read (${why}); remove it, and the export writes it again`,
    );
  }
  const { channel, release_id: releaseId } = mirror.value.release;
  if (channel === release.channel) return;
  throw new BundleError(
    `${directory} has ${channel} release ${releaseId}, and ${release.release_id} is ${release.channel}: a static mirror has one channel, so name another folder`,
  );
}
