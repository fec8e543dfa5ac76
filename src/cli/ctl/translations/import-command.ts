import { FILE_PROVIDER } from '../../../contract/actions/provider-names.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import type { CtlContext } from '../ctl-context.ts';
import { textOption } from '../ctl-options.ts';
import { isDataFormat } from '../output/output-format.ts';
import { printValue } from '../output/print-answer.ts';
import { countText } from '../../../domain/count-text.ts';
import { createProgressDisplay } from '../../output/progress-display.ts';
import { importUnits, type ImportOptions, type ImportResult } from './import-units.ts';
import { countOutcomes, isProblem, OUTCOMES, type Outcome, type UnitOutcome } from './outcomes.ts';
import { patientReads } from './patient-reads.ts';
import type { UpdateFields } from './task-updates.ts';
import { readUnitFile, type UnitFile } from './unit-file.ts';
import { showUnitLines, writeUnitReport } from './unit-report.ts';

/** The run of a provider that importing a file is: the same bytes are the same run. */
export function runOfFile({ sha256 }: Pick<UnitFile, 'sha256'>): string {
  return `${FILE_PROVIDER}:${sha256.slice(0, 32)}`;
}

/** Runs `translations import`. @throws CtlFailure */
export async function runImport(context: CtlContext): Promise<CtlExit> {
  const { args, words } = context;
  const [path = ''] = words;
  const file = await readUnitFile(path, args);
  const workerId = textOption(args, 'worker');
  const options = {
    file,
    status: statusOf(context),
    isPartial: args.values.partial === true,
    isTrial: args.values['dry-run'] === true,
    fields: {
      provider: FILE_PROVIDER,
      provider_run_id: runOfFile(file),
      ...(workerId === undefined ? {} : { worker_id: workerId }),
    } satisfies UpdateFields,
  };
  const result = await importWithProgress(context, options);
  await writeUnitReport(context, result.outcomes);
  if (isDataFormat(context.output)) await printValue(context, summaryOf(file, options, result));
  else showImport(context, file, options, result);
  if (result.failure !== null) throw midwayFailure(result, result.failure);
  const isWhole = !result.outcomes.some(isProblem) && result.unfinished.length === 0;
  return isWhole ? CTL_EXITS.ok : CTL_EXITS.failed;
}

/** Imports a file and shows how far it is. @throws CtlFailure */
export async function importWithProgress(
  context: CtlContext,
  options: Omit<ImportOptions, 'progress'>,
): Promise<ImportResult> {
  const progress = createProgressDisplay(context.stderr, context.clock);
  try {
    return await importUnits(patientReads(context), { ...options, progress: (text) => progress.show(text) });
  } finally {
    progress.end();
  }
}

function statusOf({ args }: CtlContext): ImportOptions['status'] {
  const status = textOption(args, 'status') ?? 'in_progress';
  if (status === 'in_progress' || status === 'translated') return status;
  throw new CtlFailure(CTL_EXITS.usage, `--status ${status}: must be in_progress or translated`);
}

function summaryOf(
  file: UnitFile,
  { isTrial }: Pick<ImportOptions, 'isTrial'>,
  { releaseId, outcomes, calls, finished, unfinished, failure }: ImportResult,
): object {
  return {
    file: file.path,
    provider_run_id: runOfFile(file),
    release_id: releaseId,
    dry_run: isTrial,
    units: outcomes.length,
    outcomes: countOutcomes(outcomes),
    calls,
    finished_tasks: finished,
    unfinished_tasks: unfinished,
    failure: failure?.message ?? null,
  };
}

function showImport(
  context: CtlContext,
  file: UnitFile,
  { isTrial, isPartial, status }: Pick<ImportOptions, 'isTrial' | 'isPartial' | 'status'>,
  { outcomes, calls, finished, unfinished }: ImportResult,
): void {
  const { stdout } = context;
  const isHandIn = status === 'translated';
  showUnitLines(context, file.path, outcomes.filter((each) => isTold(each, isHandIn)).map(lineOf));
  stdout.write(`${countText(outcomes.length, 'unit')} in ${file.path}\n`);
  for (const [name, units] of Object.entries(countOutcomes(outcomes))) {
    stdout.write(`  ${units} ${name}: ${OUTCOMES[name as Outcome].text}\n`);
  }
  for (const reason of unfinished.slice(0, 10)) stdout.write(`not complete: ${reason}\n`);
  if (unfinished.length > 10) stdout.write(`... and ${unfinished.length - 10} more\n`);
  if (finished.length > 0)
    stdout.write(
      `${countText(finished.length, 'task')} ${finished.length === 1 ? 'is' : 'are'} translated\n`,
    );
  if (isTrial) stdout.write('nothing was stored: --dry-run\n');
  else if (calls.planned === 0 && !isPartial && outcomes.some(isProblem)) {
    stdout.write(
      'nothing was stored: correct the file, or add --partial to store the units without a problem\n',
    );
  } else if (calls.planned === 0 && !isPartial && unfinished.length > 0) {
    stdout.write('nothing was stored: complete the tasks, or leave --status translated out\n');
  } else if (calls.made > 0) {
    stdout.write(
      `${calls.made} of ${countText(calls.planned, 'call')} stored targets; run ${runOfFile(file)}\n`,
    );
    if (status === 'in_progress') {
      stdout.write(
        'the targets are drafts; import the file with --status translated when its tasks are complete\n',
      );
    }
  }
}

/** The outcomes of units that block their task. */
const BLOCKED: ReadonlySet<Outcome> = new Set(['stored_blocked', 'ready_blocked', 'unchanged_blocked']);

/** Whether a person wants to read about a unit: one that is missing only where the task is to be handed in. */
function isTold({ outcome, detail }: UnitOutcome, isHandIn: boolean): boolean {
  return (
    isProblem({ outcome }) || BLOCKED.has(outcome) || (isHandIn && outcome === 'no_target' && detail !== '')
  );
}

function lineOf({ line, file_unit_id: id, outcome, detail }: UnitOutcome): { line: number; text: string } {
  const more = detail === '' ? '' : `: ${detail}`;
  return { line, text: `${outcome}: ${id ?? 'no id'}: ${OUTCOMES[outcome].text}${more}` };
}

function midwayFailure({ calls }: ImportResult, failure: CtlFailure): CtlFailure {
  const message = `${failure.message}\n${calls.made} of ${countText(calls.planned, 'call')} ${calls.planned === 1 ? 'was' : 'were'} made, each for the targets of one task; their targets are stored. Correct the cause and import the same file again: it continues with the rest`;
  return new CtlFailure(failure.exit, message, { cause: failure });
}
