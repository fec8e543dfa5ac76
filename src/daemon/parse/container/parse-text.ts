import type { CompiledRule } from '../rules/compile-rules.ts';
import { collectText, decodedValue, type TextFormat } from './collect-text.ts';
import { locationOf, readWhole, type ContainerRun, type Part } from './container-run.ts';
import { emitTexts } from './emit-texts.ts';
import { joinKeyPath } from './key-path.ts';

/**
 * Parses a text file.
 *
 * @throws FormatError when the file as a whole cannot be read
 */
export async function parseTextFile(
  run: ContainerRun,
  part: Part,
  rule: CompiledRule,
  format: TextFormat,
): Promise<void> {
  const { entryKey } = part;
  const decoded = decodedValue(readWhole(run, part), rule);
  const location = locationOf(part, format);
  const collected = collectText(decoded, format, rule, {
    limits: run.limits,
    reportPartError: (error, path) => {
      run.report(location, error, path);
    },
  });
  await emitTexts(
    { run, part, rule, location, keyPrefix: joinKeyPath([entryKey, '', '']), fieldPrefix: '' },
    collected,
  );
}
