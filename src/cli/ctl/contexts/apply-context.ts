import { didYouMean } from '../../../platform/terminal/usage-error.ts';
import type { CtlIo, CtlProgram } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { textOption, type CtlArguments } from '../ctl-options.ts';
import { CLUSTER_OPTIONS } from '../ctl-target.ts';
import { readContextFile, tokenFileOf, type ContextFile, type CtlServiceContext } from './context-file.ts';

/** A command line with the values of its context. */
export interface AppliedContext {
  readonly args: CtlArguments;
  /** A token that the file of contexts holds, and where; `null` for none. */
  readonly token: { readonly text: string; readonly origin: string } | null;
  /** Whether a context gave the address. The token of the environment does not belong to it. */
  readonly isContext: boolean;
}

/**
 * Adds the values of a context to a command line that names none of them. The address and the token of a context belong
 * together: with another address, none of its values is used. A named context comes before SLIPWAY_CTL_URL, the current one
 * after it.
 *
 * @throws CtlFailure
 */
export async function applyContext(
  args: CtlArguments,
  { env }: CtlIo,
  program: CtlProgram,
): Promise<AppliedContext> {
  const asked = textOption(args, 'ctl-context');
  const address = (['url', ...CLUSTER_OPTIONS] as const).find((name) => args.values[name] !== undefined);
  if (asked !== undefined && address !== undefined) {
    throw new CtlFailure(CTL_EXITS.usage, `give either --ctl-context or --${address}, not both`);
  }
  const named = asked ?? env['SLIPWAY_CTL_CONTEXT'];
  const hasAddress = address !== undefined || env['SLIPWAY_CTL_URL'] !== undefined || program.plugin;
  if (address !== undefined || (named === undefined && hasAddress))
    return { args, token: null, isContext: false };
  const file = await readContextFile(env);
  const name = named ?? file.current;
  if (name === null) return { args, token: null, isContext: false };
  return withContext(args, file, name, findContext(file, name), env);
}

/** Finds a context by its name. @throws CtlFailure */
export function findContext(file: ContextFile, name: string): CtlServiceContext {
  const found = Object.hasOwn(file.contexts, name) ? file.contexts[name] : undefined;
  if (found !== undefined) return found;
  const hint = didYouMean(name, Object.keys(file.contexts));
  throw new CtlFailure(CTL_EXITS.usage, `${file.path} has no context "${name}"${hint}`);
}

function withContext(
  args: CtlArguments,
  file: ContextFile,
  name: string,
  context: CtlServiceContext,
  env: CtlIo['env'],
): AppliedContext {
  const hasToken = args.values['token-file'] !== undefined || args.values['token-secret'] !== undefined;
  const { url, tokenFile, token, tokenSecret, kubeContext, targetPort, timeoutSeconds } = context;
  const values = {
    url,
    kubectl: context.kubectl === true ? true : undefined,
    namespace: context.namespace,
    context: kubeContext,
    target: context.target,
    'target-port': targetPort === undefined ? undefined : String(targetPort),
    timeout: timeoutSeconds === undefined ? undefined : String(timeoutSeconds),
    output: context.output,
    ...(hasToken
      ? {}
      : {
          'token-file': tokenFile === undefined ? undefined : tokenFileOf(tokenFile, file.path, env),
          'token-secret': tokenSecret,
        }),
  };
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  return {
    args: { ...args, values: { ...given, ...args.values } },
    token:
      hasToken || token === undefined ? null : { text: token, origin: `the context ${name} of ${file.path}` },
    isContext: true,
  };
}
