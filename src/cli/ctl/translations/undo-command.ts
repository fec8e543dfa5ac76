import { UNDO_PROVIDER } from '../../../contract/actions/provider-names.ts';
import { printable, textExcerpt } from '../../../platform/terminal/text-table.ts';
import { withProgress } from '../../output/progress-display.ts';
import { confirm } from '../actions/confirm.ts';
import { countText } from '../../../domain/count-text.ts';
import type { UndoChoice } from '../../../domain/translation/undo-decision.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { printValue } from '../output/print-answer.ts';
import { patientReads } from './patient-reads.ts';
import { unitQueryOf } from './unit-query.ts';
import { undoUnits, type UndoOutcome } from './undo-units.ts';
import { writeUnitReport } from './unit-report.ts';

const SHOWN_UNITS = 30;
const TARGET_COLUMNS = 60;

/** Runs `translations undo`. @throws CtlFailure */
export async function runUndo(context: CtlContext): Promise<CtlExit> {
  const { args, stdin, stderr } = context;
  const choice = choiceOf(context);
  const query = await unitQueryOf(context);
  const reason = textOption(args, 'reason') ?? 'undone with slipway ctl translations undo';
  const isTrial = args.values['dry-run'] === true;
  const { outcomes, failure } = await withProgress(context, async (display) =>
    undoUnits(patientReads(context), {
      ...choice,
      ...query,
      isTrial,
      confirm: async (targets) => {
        display.end();
        const loss = `undo takes back ${countText(targets, 'translation')}`;
        if (stdin.isTTY === true) stderr.write(`${loss}; --dry-run lists them\n`);
        await confirm(context, loss);
      },
      fields: { provider: UNDO_PROVIDER, reason },
      progress: (text) => display.show(text),
    }),
  );
  await writeUnitReport(context, outcomes);
  const counts = Object.fromEntries(
    [...Map.groupBy(outcomes, ({ outcome }) => outcome)].map(([name, units]) => [name, units.length]),
  );
  const result = { dry_run: isTrial, outcomes: counts, failure: failure?.message ?? null };
  await printValue(context, result, () => renderUndo(outcomes, counts, isTrial));
  if (failure === null) return CTL_EXITS.ok;
  const message = `${failure.message}\nthe units that are named as restored or taken_back are changed; repeat the command to continue`;
  throw new CtlFailure(failure.exit, message, { cause: failure });
}

function choiceOf({ args }: CtlContext): UndoChoice {
  const run = textOption(args, 'run') ?? null;
  const author = textOption(args, 'author') ?? null;
  const since = timeOf(textOption(args, 'since'));
  if (run !== null || author !== null || since !== null) return { run, author, since };
  throw new CtlFailure(CTL_EXITS.usage, 'choose what to undo: --run ID, --author TOKEN or --since TIME');
}

function timeOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const seconds = /^\d{1,12}$/.test(text) ? Number(text) : Math.ceil(Date.parse(text) / 1000);
  if (!Number.isNaN(seconds)) return seconds;
  throw new CtlFailure(CTL_EXITS.usage, `--since ${text}: must be a time such as 2026-11-23T08:00:00Z`);
}

function renderUndo(
  outcomes: readonly UndoOutcome[],
  counts: Readonly<Record<string, number>>,
  isTrial: boolean,
): string {
  const lines = outcomes.slice(0, SHOWN_UNITS).map(({ unit_id: id, outcome, detail, target_text: text }) => {
    const target = text === '' ? '' : `: ${textExcerpt(text, TARGET_COLUMNS)}`;
    return `${outcome}: ${id}${printable(detail === '' ? target : `: ${detail}`)}\n`;
  });
  const more = outcomes.length - SHOWN_UNITS;
  const numbers = Object.entries(counts).map(([name, units]) => `${units} ${name}`);
  return [
    ...lines,
    ...(more > 0 ? [`... and ${more} more\n`] : []),
    numbers.length === 0 ? 'nothing fits\n' : `${numbers.join(', ')}\n`,
    ...(isTrial ? ['nothing was changed: --dry-run\n'] : []),
  ].join('');
}
