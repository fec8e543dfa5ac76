import type { z } from 'zod';
import { WORKER_ARGUMENTS } from '../../../contract/actions/worker-arguments.ts';
import { failure, success, type Result } from '../../../domain/result.ts';
import { parseOptions } from '../../../platform/terminal/parse-options.ts';

/** The command line of `slipway translations evaluate`. */
export interface QualityOptions {
  /** The file with sources and their reviewed translations. */
  readonly set: string;
  /** The file with the sections `translation` and `parse`; `null`: the defaults. */
  readonly config: string | null;
  /** Providers of the configuration; none: the usual one of the configuration. */
  readonly providers: readonly string[];
  /** Files with instructions; each provider with prompts is also tried with each of them. */
  readonly instructions: readonly string[];
  /** Files of prepared translations, each tried like a provider. */
  readonly fixtures: readonly string[];
  /** The file of terms; `null`: none. */
  readonly glossary: string | null;
  readonly limit: number;
  /** Of all that is tried, together; `null`: those of the configuration. */
  readonly maxTokens: number | null;
  readonly maxCost: number | null;
  readonly dryRun: boolean;
  readonly json: boolean;
  /** The page to write; `null`: none. */
  readonly html: string | null;
}

export const QUALITY_EXITS = { ok: 0, incomplete: 1, usage: 2, interrupted: 130 } as const;

const LIMIT = { usual: 200, most: 5000 };

export const QUALITY_USAGE = `Usage: slipway translations evaluate --set FILE --config FILE [--provider NAME]... [OPTIONS]

Measures providers on texts whose right translation is known, and compares their translations. It needs no daemon, changes
nothing, and sends the texts of the set to the providers. Before that, it shows an estimate of the cost.

  --set FILE           texts with reviewed translations: a memory (.tmx, .jsonl) as slipway ctl memory export writes it, whose
                       trusted records count, or units (.csv, .jsonl, .xlf, .po, .xlsx)
  --config FILE        YAML or JSON with the section "translation", as in the configuration of the daemon; its section
                       "parse" gives the limits of fields
  --provider NAME      a provider of the configuration; again for more. Default: translation.provider
  --instructions FILE  tries each language model also with this text in place of its instructions; again for more
  --fixture FILE       compares prepared translations as if a provider had sent them; again for more
  --glossary FILE      terms (.csv, .tbx) that are sent along, and that translations must use
  --limit N            most texts, at most ${LIMIT.most}; default ${LIMIT.usual}. The same ones are chosen each time
  --max-tokens N       stops before more tokens of prompts and answers are used, by all providers together
  --max-cost N         stops before more is spent, in the currency of the prices
  --dry-run            only prints the estimate
  --html FILE          writes a page with all texts side by side
  --json               prints the report as JSON, with all texts; with --dry-run, the estimate

Exit codes: 0 every text was translated; 1 some were not; 2 wrong arguments or files; 130 Ctrl-C or SIGTERM.
`;

/**
 * Reads the command line after `translations`.
 *
 * @returns the options, `'help'`, or one sentence that says what is wrong
 */
export function parseQualityOptions(argv: readonly string[]): Result<QualityOptions | 'help', string> {
  const parsed = parseOptions({
    args: [...argv],
    allowPositionals: true,
    options: {
      set: { type: 'string' },
      config: { type: 'string' },
      provider: { type: 'string', multiple: true, default: [] },
      instructions: { type: 'string', multiple: true, default: [] },
      fixture: { type: 'string', multiple: true, default: [] },
      glossary: { type: 'string' },
      limit: { type: 'string', default: String(LIMIT.usual) },
      'max-tokens': { type: 'string' },
      'max-cost': { type: 'string' },
      'dry-run': { type: 'boolean', default: false },
      html: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (!parsed.ok) return parsed;
  const { values, positionals } = parsed.value;
  if (values.help) return success('help');
  if (positionals.length !== 1 || positionals[0] !== 'evaluate') {
    return failure('the command is: slipway translations evaluate');
  }
  if (values.set === undefined) return failure('--set is missing: name a file with reviewed translations');
  const limit = Number(values.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT.most) {
    return failure(`--limit: must be a whole number from 1 to ${LIMIT.most} (got "${values.limit}")`);
  }
  const { 'max-tokens': tokens, 'max-cost': cost } = values;
  // Runs take the same values.
  const { max_tokens: tokensSchema, max_cost: costSchema } = WORKER_ARGUMENTS.shape;
  const maxTokens = tokensSchema.safeParse(tokens === undefined ? tokens : Number(tokens));
  if (!maxTokens.success) return failure(refusedText('--max-tokens', maxTokens.error, tokens));
  const maxCost = costSchema.safeParse(cost);
  if (!maxCost.success) return failure(refusedText('--max-cost', maxCost.error, cost));
  return success({
    set: values.set,
    config: values.config ?? null,
    providers: values.provider,
    instructions: values.instructions,
    fixtures: values.fixture,
    glossary: values.glossary ?? null,
    limit,
    maxTokens: maxTokens.data ?? null,
    maxCost: maxCost.data ?? null,
    dryRun: values['dry-run'],
    json: values.json,
    html: values.html ?? null,
  });
}

function refusedText(option: string, { issues }: z.ZodError, text = ''): string {
  return `${option}: ${issues.map(({ message }) => message).join('; ')} (got "${text}")`;
}
