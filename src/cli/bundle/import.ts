import { instant } from '../../domain/instant.ts';
import { join } from 'node:path';
import { loadTrustedKeys, type TrustedKey } from '../../attestation/keys.ts';
import { BundleError } from '../../mirror/bundle/bundle-error.ts';
import { openBundle } from '../../mirror/bundle/open-bundle.ts';
import { openLayout } from '../../mirror/bundle/open-layout.ts';
import { checkBundle, type CheckedBundle } from '../../mirror/bundle/verify-bundle.ts';
import { MirrorError } from '../../mirror/mirror-error.ts';
import { messageOf } from '../../platform/errors.ts';
import { textBytes } from '../../domain/text-bytes.ts';
import { usageError } from '../../platform/terminal/usage-error.ts';
import { countText } from '../../domain/count-text.ts';
import { createProgressDisplay } from '../output/progress-display.ts';
import { renderProgress } from '../output/progress-line.ts';
import { BUNDLE_EXITS, type BundleIo } from './bundle-io.ts';
import { createHeldObjects } from './held-objects.ts';
import { placeBundle, STANDARD_INPUT, type BundleInput } from './place-bundle.ts';
import { IMPORT_USAGE, parseImportOptions, type ImportOptions } from './import-options.ts';

interface Sound extends CheckedBundle {
  readonly name: string;
}

/**
 * Runs `slipway import`: checks a bundle, and hands it to the daemon whose upstream is the folder of bundles.
 *
 * @param argv the command line after `import`
 * @returns the exit code
 */
export async function runImport(argv: readonly string[], io: BundleIo): Promise<number> {
  const options = parseImportOptions(argv);
  if (!options.ok) return refuse(io, options.error);
  if (options.value === 'help') {
    io.stdout.write(IMPORT_USAGE);
    return BUNDLE_EXITS.ok;
  }
  const keys = await loadTrustedKeys(options.value.keys);
  if (!keys.ok) return refuse(io, keys.error.join('; '));
  try {
    io.stdout.write(await importBundle(options.value, keys.value, io));
    return BUNDLE_EXITS.ok;
  } catch (error) {
    const code = error instanceof MirrorError ? `${error.code}: ` : '';
    const reason = io.signal.aborted ? 'interrupted' : `${code}${messageOf(error)}`;
    io.stderr.write(`slipway import: ${reason}; nothing was imported\n`);
    return BUNDLE_EXITS.failed;
  }
}

async function importBundle(
  options: ImportOptions,
  keys: readonly TrustedKey[],
  io: BundleIo,
): Promise<string> {
  const { file, to } = options;
  const label = file ?? STANDARD_INPUT;
  const check = async (path: string): Promise<Sound> => await checkFile(path, label, { options, keys, io });
  const place = async (source: BundleInput, folder: string): Promise<string> => {
    const { clock, signal } = io;
    const sound = await placeBundle({ folder, source, check, now: () => clock.now(), signal });
    return describe(sound, `is in ${join(folder, sound.name)}`);
  };
  if (file === null) return await place({ kind: 'pipe', pieces: io.stdin }, to);
  if (to === null) return describe(await check(file), 'is sound; it was put nowhere');
  return await place({ kind: 'file', path: file }, to);
}

interface ImportContext {
  readonly options: ImportOptions;
  readonly keys: readonly TrustedKey[];
  readonly io: BundleIo;
}

async function checkFile(
  path: string,
  label: string,
  { options, keys, io: { signal, stderr, clock } }: ImportContext,
): Promise<Sound> {
  const display = createProgressDisplay(stderr, clock);
  // The copy has a name that means nothing to the user.
  const layout = await openLayout(path, label);
  try {
    const [manifest, second] = layout.manifests;
    if (manifest === undefined || second !== undefined) {
      throw new BundleError(`${label} holds ${layout.manifests.length} image manifests; a bundle has one`);
    }
    const bundle = await openBundle(layout, manifest, signal);
    const total = bundle.offsets[bundle.objects.length] ?? 0;
    const checked = await checkBundle(bundle, {
      trustedKeys: keys,
      isHeld: createHeldObjects(options.data, options.to, signal),
      onProgress: (done) => {
        display.show(renderProgress({ done, total, unit: 'bytes', phase: 'check' }));
      },
      signal,
    });
    const { channel, attested } = checked.release;
    return { ...checked, name: `${channel}-${attested.release_id}-${manifest.digest.slice(7, 19)}.tar` };
  } finally {
    display.end();
    await layout.close();
  }
}

function describe({ release, version, issuedAt }: Sound, outcome: string): string {
  const { channel, attested } = release;
  return (
    `${channel} release ${attested.release_id} ${outcome}\n` +
    `${countText(attested.entry_count, 'entry', 'entries')}, ${textBytes(attested.total_bytes)}, attestation version ${version} of ${instant(issuedAt)}\n`
  );
}

function refuse(io: BundleIo, problem: string): number {
  io.stderr.write(usageError('slipway import', problem));
  return BUNDLE_EXITS.usage;
}
