/**
 * Patches a container with its self-check, as the process that patches does, and prints the figures of it as JSON.
 *
 *   node test/bench/unity-patch-child.ts BUNDLE EDITS OUTPUT
 */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { patchFile, keepHeapSmall } from '../../src/localization/localized/patch/patch-file.ts';
import {
  patchContainer,
  type PatchContainer,
} from '../../src/localization/localized/patch/write/patch-container.ts';
import { compileRules } from '../../src/localization/parse/rules/compile-rules.ts';
import { loadedRules } from '../support/parse-bytes.ts';

const [path = '', editsPath = '', outputPath = ''] = process.argv.slice(2);
const rules = compileRules(loadedRules());
let written = { user: 0, system: 0 };

/** Notes the processor time at the end of writing. */
const patch: PatchContainer = function* noted(run, part, tree) {
  yield* patchContainer(run, part, tree);
  written = process.cpuUsage(before);
};

keepHeapSmall();
// A process at rest, with its program.
globalThis.gc?.();
const residentBefore = peakBytes('VmRSS');
const before = process.cpuUsage();
const job = {
  destination: 'a.bundle',
  path,
  editsPath,
  outputPath,
  scratchDirectory: `${outputPath}-scratch`,
};
const result = await patchFile(job, rules, patch);
if (result.kind !== 'patched') throw new Error(`not patched: ${result.message}`);
const extraBytes = peakBytes('VmHWM') - residentBefore;
const [seconds, checkedSeconds] = [written, process.cpuUsage(before)].map(
  ({ user, system }) => (user + system) / 1e6,
);
console.log(JSON.stringify({ seconds, checkedSeconds, extraBytes }));

function peakBytes(field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync('/proc/self/status', 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
}
