import { access } from 'node:fs/promises';
import { REVIEW_STATUSES, type ReviewStatus } from '../../../domain/glossary/term.ts';
import { writeEntries } from '../../../exchange/file-codec.ts';
import { TERM_FORMATS } from '../../../exchange/glossary/term-formats.ts';
import { writeFileDurably } from '../../../platform/files/files.ts';
import { messageOf } from '../../../platform/errors.ts';
import { textFields } from '../../../platform/terminal/text-table.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { printValue } from '../output/print-answer.ts';
import { fileFormat } from './exchange-options.ts';
import type { ReportedTerm } from '../../../contract/formats/glossary/term-import.ts';
import { languagesOf, queryTerms } from './glossary-api.ts';
import { renderOutcome } from './outcome-view.ts';

/** Writes the terms of the Glossary to a local file. @throws CtlFailure */
export async function exportGlossaryFile(context: CtlContext): Promise<CtlExit> {
  const { args, words } = context;
  const [path = ''] = words;
  const format = fileFormat(path, args, 'terms');
  const states = statesOf(textOption(args, 'state'));
  await refuseExisting(path, args.values.force === true);
  const pair = await languagesOf(context);
  const terms = (await termsOf(context, states)).filter(
    (term) => term.source_language === pair.sourceLanguage && term.target_language === pair.targetLanguage,
  );
  const parts: string[] = [];
  const issues: { readonly id: string; readonly message: string }[] = [];
  let written = 0;
  const count = {
    written: () => {
      written += 1;
    },
    refused: ({ term_id: id }: ReportedTerm, message: string) => issues.push({ id, message }),
  };
  for await (const text of writeEntries(TERM_FORMATS[format].createWriter(pair, 'ctl'), terms, count)) {
    parts.push(text);
  }
  await write(path, parts.join(''));
  const result = { file: path, format, written, refused: issues.length, issues };
  await printValue(context, result, () => textFields([['file', path], ...renderOutcome(result)]));
  return issues.length === 0 ? CTL_EXITS.ok : CTL_EXITS.failed;
}

/** The terms of some states. One answer has at most 1,000, so a larger Glossary needs the job. @throws CtlFailure */
async function termsOf(context: CtlContext, states: readonly ReviewStatus[]): Promise<ReportedTerm[]> {
  const terms: ReportedTerm[] = [];
  for (const review_status of states) {
    const { total, items } = await queryTerms(context, { review_status });
    if (total > items.length) {
      throw new CtlFailure(
        CTL_EXITS.usage,
        `the Glossary has ${total} ${review_status} terms, and the service gives at most ${items.length}; add --exchange, which writes the file to the exchange folder of the daemon`,
      );
    }
    terms.push(...items);
  }
  return terms;
}

function statesOf(text: string | undefined): readonly ReviewStatus[] {
  const wanted = text?.split(',').map((state) => state.trim()) ?? ['draft', 'approved', 'deprecated'];
  const unknown = wanted.filter((state) => !REVIEW_STATUSES.some((each) => each === state));
  if (unknown.length === 0) return REVIEW_STATUSES.filter((state) => wanted.includes(state));
  throw new CtlFailure(
    CTL_EXITS.usage,
    `--state ${text ?? ''}: must be one or more of ${REVIEW_STATUSES.join(', ')}, separated by commas`,
  );
}

async function refuseExisting(path: string, isForced: boolean): Promise<void> {
  const exists = await access(path).then(
    () => true,
    () => false,
  );
  if (!exists || isForced) return;
  throw new CtlFailure(CTL_EXITS.usage, `${path} exists; choose another name, or give --force to replace it`);
}

async function write(path: string, text: string): Promise<void> {
  try {
    await writeFileDurably(path, text);
  } catch (error) {
    throw new CtlFailure(CTL_EXITS.usage, `cannot write ${path}: ${messageOf(error)}`, { cause: error });
  }
}
