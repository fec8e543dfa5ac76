import { parseArgs, type ParseArgsConfig } from 'node:util';
import { failure, success, type Result } from '../../domain/result.ts';
import { messageOf } from '../errors.ts';
import { didYouMean } from './usage-error.ts';

type Parsed<Config extends ParseArgsConfig> = ReturnType<typeof parseArgs<Config>>;

/**
 * Parses a command line as `parseArgs` of Node does.
 *
 * @returns options and other words, or one short sentence that says what is wrong
 */
export function parseOptions<Config extends ParseArgsConfig & { readonly args: string[] }>(
  config: Config,
): Result<Parsed<Config>, string> {
  try {
    return success(parseArgs(config));
  } catch (error) {
    return failure(unknownOption(config) ?? shortMessage(messageOf(error)));
  }
}

function unknownOption({ args, options = {} }: ParseArgsConfig): string | null {
  const { tokens } = parseArgs({
    args: [...(args ?? [])],
    options,
    strict: false,
    tokens: true,
    allowPositionals: true,
  });
  const unknown = tokens.find((token) => token.kind === 'option' && !Object.hasOwn(options, token.name));
  if (unknown?.kind !== 'option') return null;
  const names = Object.keys(options).map((name) => `--${name}`);
  return `there is no option ${unknown.rawName}${didYouMean(unknown.rawName, names)}`;
}

/** Says the messages of Node shorter: they explain `--` and `=` at length. */
function shortMessage(message: string): string {
  const [, name = ''] = /'(?:-\w, )?(--?[^' ]+)/.exec(message) ?? [];
  if (message.includes('missing') || message.includes('ambiguous')) return `${name} needs a value`;
  if (message.includes('does not take an argument')) return `${name} takes no value`;
  const [, word] = /^Unexpected argument '(.*?)'\. /s.exec(message) ?? [];
  return word === undefined ? message : `unexpected argument "${word}"`;
}
