import { countText } from '../../../domain/count-text.ts';
import { withProgress } from '../../output/progress-display.ts';
import { statesOption } from './unit-query.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import { numberOption, textOption } from '../ctl-options.ts';
import { printItems } from '../output/print-answer.ts';
import { given, readReport, type ReportOf } from '../reports.ts';
import { DEFAULT_UNITS, unitColumns } from '../work-views.ts';
import { patientReads } from './patient-reads.ts';
import { indexOf, withOneIndex, type IndexState, type ServiceUnit } from './service-pages.ts';

const MOST_UNITS = 100_000;
const PAGE_UNITS = 1000;

/** Runs `translations search`. It exits with 1 when nothing fits, as grep does. @throws CtlFailure */
export async function runSearch(context: CtlContext): Promise<CtlExit> {
  const { args, words, stderr } = context;
  const query = given({
    text: words[0],
    text_in: textOption(args, 'in'),
    unit_state: statesOption(args)?.join(','),
    speaker: textOption(args, 'speaker'),
    author: textOption(args, 'author'),
    path_pattern: textOption(args, 'destination'),
    same: textOption(args, 'same'),
  });
  const { path_pattern: _files, text_in: _side, ...wanted } = query;
  if (Object.keys(wanted).length === 0) {
    throw new CtlFailure(CTL_EXITS.usage, 'say what to find: TEXT, --state, --speaker, --author or --same');
  }
  const most = numberOption(args, 'limit', { min: 1, max: MOST_UNITS, fallback: DEFAULT_UNITS });
  const { units, isMore } = await readUnits(context, query, most);
  await printItems(context, units, unitColumns, ({ unit_id: id }) => id);
  const more = isMore ? '; --limit shows more' : '';
  stderr.write(units.length === 0 ? 'nothing fits\n' : `${countText(units.length, 'unit')}${more}\n`);
  return units.length === 0 ? CTL_EXITS.failed : CTL_EXITS.ok;
}

/** Reads pages until there are enough units; a page of a search can be empty. */
async function readUnits(
  context: CtlContext,
  query: Readonly<Record<string, string>>,
  most: number,
): Promise<{ readonly units: readonly ServiceUnit[]; readonly isMore: boolean }> {
  const api = patientReads(context);
  return await withProgress(context, async (display) =>
    withOneIndex(async () => {
      const units: ServiceUnit[] = [];
      let index: IndexState | null = null;
      let offset: number | null = 0;
      while (offset !== null && units.length < most) {
        const limit = String(Math.min(PAGE_UNITS, most - units.length));
        const page: ReportOf<'parse.text_units'> = await readReport(api, 'parse.text_units', {
          ...query,
          offset: String(offset),
          limit,
        });
        index = indexOf(page, index);
        units.push(...page.items);
        offset = page.next_offset;
        display.show(`searching: ${units.length} found`);
      }
      return { units, isMore: offset !== null };
    }),
  );
}

/**
 * Reads one unit by its id.
 *
 * @returns the unit with its task and its translation
 * @throws CtlFailure
 */
export async function readUnit(
  context: CtlContext,
  unitId: string,
): Promise<
  ServiceUnit & { readonly translation: NonNullable<ServiceUnit['translation']> & { task_id: string } }
> {
  const [unit] = (await readUnits(context, { unit_id: unitId }, 1)).units;
  if (unit === undefined) {
    throw new CtlFailure(
      CTL_EXITS.failed,
      `the release has no text unit ${unitId}; translations search -o name lists ids`,
    );
  }
  const { translation } = unit;
  const taskId = translation?.task_id ?? null;
  if (translation === null || taskId === null) {
    throw new CtlFailure(
      CTL_EXITS.failed,
      'the translation tasks of the release are not built yet; try again later',
    );
  }
  return { ...unit, translation: { ...translation, task_id: taskId } };
}
