import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRandom } from '../../demo/game/seeded-random.ts';
import type { FrozenEdit } from '../../src/localization/localized/freeze/frozen-release.ts';
import { patchFile, type PatchFileResult } from '../../src/localization/localized/patch/patch-file.ts';
import type { PatchContainer } from '../../src/localization/localized/patch/write/patch-container.ts';
import type { ParsedUnit } from '../../src/localization/parse/container/parsed-container.ts';
import { compileRules } from '../../src/localization/parse/rules/compile-rules.ts';
import { editLines, editOf } from './frozen-edits.ts';
import { loadedRules, parseBytes, type TestRules } from './parse-bytes.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The result of patching bytes. */
export interface PatchedBytes {
  readonly result: PatchFileResult;
  /** The new container; `null` where nothing is at its path. */
  readonly bytes: Buffer | null;
}

/** Patches a container that is in memory, with its self-check, in this process. */
export async function patchBytes(
  destination: string,
  content: Uint8Array,
  edits: readonly FrozenEdit[],
  { patch, ...rules }: TestRules & { readonly patch?: PatchContainer } = {},
): Promise<PatchedBytes> {
  const directory = await temporaryDirectory();
  const [path, editsPath, outputPath] = ['official', 'edits.jsonl', 'patched'].map((name) =>
    join(directory, name),
  ) as [string, string, string];
  await writeFile(path, content);
  await writeFile(editsPath, editLines(edits));
  const scratchDirectory = join(directory, 'scratch');
  const job = { destination, path, editsPath, outputPath, scratchDirectory };
  const result = await patchFile(job, compileRules(loadedRules(rules)), patch);
  return { result, bytes: existsSync(outputPath) ? await readFile(outputPath) : null };
}

/** The units of a container that is in memory. */
export async function unitsOf(
  destination: string,
  content: Uint8Array,
  rules: TestRules = {},
): Promise<readonly ParsedUnit[]> {
  const scratchDirectory = await temporaryDirectory();
  return (await parseBytes(destination, content, { ...rules, scratchDirectory })).units;
}

/** Texts that every format can hold in one line. They keep a character of the source script, so that they stay units. */
const TARGETS = [
  'は',
  '先生、おはようございます。'.repeat(30),
  '😀👩‍👩‍👧‍👦𠮟る',
  'مرحبا \u202Eبالعالم\u202C 先生',
  '"quoted" and \'single\' は',
  'は,b\tc;d',
  'back\\slash \\n / <color=#ff8800>は',
  ' spaces は ',
  '=1+1 は',
];

/** Random edits of some of the units. The same seed gives the same edits. */
export function randomUnitEdits(units: readonly ParsedUnit[], seed: number): FrozenEdit[] {
  const random = createRandom(seed);
  const share = random.pick([1, 2, 6]);
  return units.flatMap((unit) => (random.below(share) === 0 ? [editOf(unit, random.pick(TARGETS))] : []));
}

/** The units as a line each: place and text. */
export function placesOf(units: readonly ParsedUnit[], edits: readonly FrozenEdit[] = []): readonly string[] {
  const key = ({
    archiveEntry,
    pathId,
    fieldPath,
  }: Pick<ParsedUnit, 'archiveEntry' | 'fieldPath'> & { pathId: unknown }) =>
    [archiveEntry, pathId, fieldPath].map(String).join(' | ');
  const targets = new Map(edits.map((edit) => [key(edit), edit.target]));
  return units.map((unit) => `${key(unit)} | ${targets.get(key(unit)) ?? unit.sourceText}`);
}
