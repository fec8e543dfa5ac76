import { failure, success, type Result } from '../../../domain/result.ts';
import { parseOptions } from '../../../platform/terminal/parse-options.ts';

export interface ParseOptions {
  readonly path: string;
  /** The destination of a file; `null`: its name. */
  readonly destination: string | null;
  /** The file of rules; `null`: the default rules. */
  readonly rules: string | null;
  /** The file of suggested rules to write; `null`: none, and units are printed. */
  readonly suggest: string | null;
  readonly json: boolean;
  /** Most units to print; `null`: all. */
  readonly limit: number | null;
}

export const PARSE_EXITS = { ok: 0, unreadable: 1, usage: 2, interrupted: 130 } as const;

export const PARSE_USAGE = `Usage: slipway parse FILE|DIR [--as DESTINATION] [--rules FILE] [--limit N] [--json]
       slipway parse DIR --suggest RULES

Shows the text units of a file, or of every file of a release folder, as the daemon finds them. It needs no daemon and
changes nothing. It also shows errors with their next steps, and the number of skipped strings by reason. For DIR it ends
with the engine, the texts by format and by folder, and the files that are not read.

  --as DESTINATION  the destination of FILE, which rules match and units are identified by; default: its name.
                    Destinations in DIR are paths below it.
  --rules FILE      rules to apply: YAML or JSON with the section "parse", as in the configuration of the daemon.
                    docs/reference/parse-rules.md lists its keys.
  --suggest RULES   writes a new file of rules to start from, instead of printing units: the fields and columns with texts
                    in the language of the game, with samples; what has none is skipped
  --limit N         prints at most N units; all are counted
  --json            prints one JSON object a line, with whole texts

Exit codes: 0 everything was read; 1 something could not be read; 2 wrong arguments or rules; 130 Ctrl-C or SIGTERM.
`;

/** Reads the command line after `parse`. @returns the options, `'help'`, or one sentence that says what is wrong */
export function parseParseOptions(argv: readonly string[]): Result<ParseOptions | 'help', string> {
  const parsed = parseOptions({
    args: [...argv],
    allowPositionals: true,
    options: {
      as: { type: 'string' },
      rules: { type: 'string' },
      suggest: { type: 'string' },
      limit: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (!parsed.ok) return parsed;
  const { values, positionals } = parsed.value;
  if (values.help) return success('help');
  const [path, second] = positionals;
  if (path === undefined || second !== undefined) return failure('name exactly one file or folder');
  const { limit, suggest } = values;
  if (
    suggest !== undefined &&
    (values.rules !== undefined || values.as !== undefined || limit !== undefined)
  ) {
    return failure(
      '--suggest: cannot be used with --rules, --as or --limit, since the rules of a whole folder are written',
    );
  }
  if (limit !== undefined && !/^\d{1,9}$/.test(limit)) {
    return failure(`--limit: must be a whole number from 0 to 999999999 (got "${limit}")`);
  }
  return success({
    path,
    destination: values.as ?? null,
    rules: values.rules ?? null,
    suggest: suggest ?? null,
    json: values.json,
    limit: limit === undefined ? null : Number(limit),
  });
}
