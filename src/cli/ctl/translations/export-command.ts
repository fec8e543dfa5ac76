import { COPYING_FORMATS, type FormatName } from '../../../contract/formats/exchange-formats.ts';
import { textFields } from '../../../platform/terminal/text-table.ts';
import { withProgress } from '../../output/progress-display.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { printValue } from '../output/print-answer.ts';
import { countText } from '../../../domain/count-text.ts';
import { fileFormat } from '../exchange/exchange-options.ts';
import { exportUnits, type ExportResult } from './export-units.ts';
import { createGlossaryHints, type GlossaryHints } from './glossary-hints.ts';
import { patientReads } from './patient-reads.ts';
import { statesOption, unitQueryOf } from './unit-query.ts';

const NO_HINTS: GlossaryHints = () => Promise.resolve([]);

/** Runs `translations export`. @throws CtlFailure */
export async function runExport(context: CtlContext): Promise<CtlExit> {
  const { args, words } = context;
  const [path = ''] = words;
  const format = fileFormat(path, args, 'units');
  const copiesSource = copiesSourceOf(textOption(args, 'copy-source'), format);
  const states = statesOption(args);
  const { taskId, query } = await unitQueryOf(context);
  const hints = await hintsOf(context);
  const result = await withProgress(context, async (display) =>
    exportUnits(patientReads(context), {
      path,
      format,
      copiesSource,
      query,
      taskId,
      states: states === null ? null : new Set(states),
      replaces: args.values.force === true,
      hints,
      progress: (text) => display.show(text),
    }),
  );
  await printValue(context, { file: path, format, ...result }, () => renderExport(path, result));
  return result.refused.length === 0 ? CTL_EXITS.ok : CTL_EXITS.failed;
}

function copiesSourceOf(text: string | undefined, format: FormatName<'units'>): boolean | undefined {
  if (text === undefined) return undefined;
  if (text !== 'yes' && text !== 'no') {
    throw new CtlFailure(CTL_EXITS.usage, `--copy-source ${text}: must be yes or no`);
  }
  if (text === 'no' || COPYING_FORMATS.includes(format)) return text === 'yes';
  throw new CtlFailure(CTL_EXITS.usage, `--copy-source yes is only for ${COPYING_FORMATS.join(' and ')}`);
}

async function hintsOf(context: CtlContext): Promise<GlossaryHints> {
  const { args, stderr } = context;
  if (args.values['no-hints'] === true) return NO_HINTS;
  const hints = await createGlossaryHints(patientReads(context));
  if (hints !== null) return hints;
  stderr.write('warning: the Glossary is not available; the file has no hints of it\n');
  return NO_HINTS;
}

function renderExport(
  path: string,
  { release_id, units, tasks, by_state, left_out, refused }: ExportResult,
): string {
  const counts = (map: Readonly<Record<string, number>>): string =>
    Object.entries(map)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ');
  return textFields([
    ['file', path],
    ['release', release_id],
    ['units', `${units} in ${countText(tasks, 'task')}${units === 0 ? '' : ` (${counts(by_state)})`}`],
    ...(Object.keys(left_out).length === 0 ? [] : [['left out', leftOutText(left_out)] as const]),
    ...refused.map((message): readonly [string, string] => ['refused', message]),
  ]);
}

/** What completes `1 unit`, for the reasons that do not do so themselves. */
const LEFT_OUT_TEXTS: Readonly<Record<string, string>> = {
  'no task': 'without a task',
  'text too long': 'with a text that is too long',
  'other state or task': 'in another state or task',
};

function leftOutText(leftOut: ExportResult['left_out']): string {
  return Object.entries(leftOut)
    .map(([reason, units]) => `${countText(units, 'unit')} ${LEFT_OUT_TEXTS[reason] ?? reason}`)
    .join(', ');
}
