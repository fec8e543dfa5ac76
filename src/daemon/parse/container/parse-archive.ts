import { compareDestinations } from '../../../domain/release/destination.ts';
import { stableNames } from '../../../domain/text/stable-name.ts';
import { bytesSource } from '../../formats/byte-source.ts';
import { FormatError } from '../../formats/format-error.ts';
import { openZip, type ZipArchive } from '../../formats/zip/open-zip.ts';
import type { ZipEntry } from '../../formats/zip/zip-directory.ts';
import type { CompiledRule } from '../rules/compile-rules.ts';
import { locationOf, nestedName, type ContainerRun, type Part } from './container-run.ts';
import { repeatedName } from './unique-keys.ts';

/**
 * Parses the entries of a zip archive, in the order of their names. An entry that cannot be read costs only itself.
 *
 * @throws FormatError when the archive itself cannot be read
 */
export async function parseArchive(run: ContainerRun, part: Part, rule: CompiledRule): Promise<void> {
  const archive = openZip(part.source, run.limits);
  const entries = archive.entries
    .filter(({ name }) => !name.endsWith('/'))
    .toSorted((left, right) => compareDestinations(left.name, right.name));
  const stable = stableNames(() => entries.values().map(({ name }) => name));
  for (const entry of entries) {
    const names = nestedName(part, entry.name, stable.keyOf(entry.name));
    // Before its data is read, so that an entry that a rule skips costs nothing.
    if (run.rules.ruleFor(run.destination, names.entry).format === 'skip') {
      run.skip('skipped_by_rule');
      continue;
    }
    if (stable.isAmbiguous(entry.name)) run.report(locationOf(names, 'zip'), repeatedName(entry.name));
    const bytes = readEntry(run, names, archive, entry, rule.password(names.entry));
    if (bytes === null) continue;
    await run.parsePart({ source: bytesSource(bytes), name: entry.name, ...names, depth: part.depth + 1 });
  }
}

function readEntry(
  run: ContainerRun,
  part: Pick<Part, 'entry'>,
  archive: ZipArchive,
  entry: ZipEntry,
  password: Uint8Array | null,
): Buffer | null {
  try {
    return archive.readEntry(entry, password ?? undefined);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    run.report(locationOf(part, 'zip'), error);
    return null;
  }
}
