import { createAdminApi } from './admin-api.ts';
import type { ClusterAccess } from './cluster/cluster-access.ts';
import type { PortForward } from './cluster/port-forward.ts';
import type { CtlCommand, CtlIo, CtlProgram, LocalContext, ServiceCommand } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from './ctl-exits.ts';
import {
  numberOption,
  parseCtlArguments,
  refuseOtherOptions,
  textOption,
  TIMEOUT_SECONDS,
  type CtlArguments,
} from './ctl-options.ts';
import { secretOf, targetOf, warnOfPlainHttp, type CtlTarget } from './ctl-target.ts';
import { readToken } from '../read-token.ts';
import { parseOutputFormat, type OutputFormat, choosePainter } from './output/view.ts';
import type * as allCommands from './all-commands.ts';
import { STATUS_COMMAND } from './status-command.ts';
import { watchCommand } from './watch.ts';

/**
 * Runs `slipway ctl`: reads reports and starts actions through the admin surface of a running service.
 *
 * @param argv the command line after `ctl`
 * @returns the exit code, one of {@link CTL_EXITS}
 */
export async function runCtl(argv: readonly string[], io: CtlIo, program: CtlProgram): Promise<number> {
  try {
    return await run(argv, io, program);
  } catch (error) {
    if (io.signal.aborted) return CTL_EXITS.interrupted;
    if (!(error instanceof CtlFailure)) throw error;
    const hint =
      error.exit === CTL_EXITS.usage
        ? `\nFor help: ${program.name}${(await loadAllCommands()).helpWords(argv)} --help`
        : '';
    io.stderr.write(`${program.name}: ${error.message}${hint}\n`);
    return error.exit;
  }
}

async function run(argv: readonly string[], io: CtlIo, program: CtlProgram): Promise<CtlExit> {
  const args = parseCtlArguments(argv.includes('run') ? (await loadAllCommands()).withArguments(argv) : argv);
  const isHelpCommand = args.words[0] === 'help';
  const words = isHelpCommand ? args.words.slice(1) : args.words;
  if (args.values.version === true) {
    io.stdout.write(`${program.name} ${program.version}\n`);
    return CTL_EXITS.ok;
  }
  if (args.values.help === true || isHelpCommand) {
    io.stdout.write((await loadAllCommands()).helpOf(words, program));
    return CTL_EXITS.ok;
  }
  const command =
    words[0] === STATUS_COMMAND.name ? STATUS_COMMAND : (await loadAllCommands()).requireCommand(words);
  const commandWords = wordsOf(command, args);
  const painter = choosePainter(textOption(args, 'color'), io.env, io.stdout.isTTY === true);
  const local = { ...io, args, words: commandWords, output: await outputOf(command, args), painter, program };
  return command.isLocal === true ? await command.run(local) : await askService(command, local);
}

async function askService(command: ServiceCommand, local: LocalContext): Promise<CtlExit> {
  const { args, program, signal, env, clock } = local;
  const timeoutMs = numberOption(args, 'timeout', TIMEOUT_SECONDS) * 1000;
  const target = targetOf(args, local, program);
  const secret = secretOf(args);
  const cluster = target.service === null && secret === null ? null : await openClusterOf(args, local);
  let forward: PortForward | null = null;
  try {
    const own = secret === null ? await tokenOf(args, env) : null;
    const found = await find(cluster, target.service, own === null && secret === null);
    const named = secret ?? found.tokenSecret;
    const token =
      cluster === null || named === null ? own : await cluster.readTokenSecret(named, secret === null);
    forward = cluster === null || found.service === null ? null : await cluster.forward(found.service);
    const url = forward?.url ?? target.url;
    warnOfPlainHttp(url, token, local);
    const context = { ...local, api: createAdminApi({ url, token, timeoutMs, signal, clock }), watch: null };
    return await (args.values.watch === true ? watchCommand(command, context) : command.run(context));
  } catch (error) {
    throw forwardFailure(forward, error);
  } finally {
    await forward?.close();
    await cluster?.close();
  }
}

/** Finds a service in a cluster. @param needsToken whether nobody has named a token */
async function find(
  cluster: ClusterAccess | null,
  service: CtlTarget['service'],
  needsToken: boolean,
): Promise<{
  readonly service: Parameters<ClusterAccess['forward']>[0] | null;
  readonly tokenSecret: string | null;
}> {
  if (cluster === null || service === null) return { service: null, tokenSecret: null };
  const { target, tokenSecret } = await cluster.find(service.target, needsToken);
  return { service: { ...service, target }, tokenSecret };
}

/** The token of `--token-file`, else of the environment; `null` for none. @throws CtlFailure */
async function tokenOf(args: CtlArguments, env: CtlIo['env']): Promise<string | null> {
  const read = await readToken(textOption(args, 'token-file'), env, 'SLIPWAY_CTL');
  if (read.ok) return read.value;
  throw new CtlFailure(CTL_EXITS.usage, read.error);
}

/** A broken connection to the pod is the cause of a service that seems unreachable. */
function forwardFailure(forward: PortForward | null, error: unknown): unknown {
  const failure = forward?.failure() ?? null;
  if (failure === null || !(error instanceof CtlFailure) || error.exit !== CTL_EXITS.unreachable)
    return error;
  return new CtlFailure(CTL_EXITS.unreachable, `cannot forward the port: ${failure}`, { cause: error });
}

/** Loads the Kubernetes library, which takes a quarter of a second and about 75 MiB, only when it is needed. */
async function openClusterOf(args: CtlArguments, io: CtlIo): Promise<ClusterAccess> {
  const { openCluster } = await import('./cluster/cluster-access.ts');
  return await openCluster({
    namespace: textOption(args, 'namespace'),
    context: textOption(args, 'context'),
    env: io.env,
    signal: io.signal,
  });
}

function wordsOf(command: CtlCommand, args: CtlArguments): readonly string[] {
  const { name, synopsis = '', words: [fewest, most] = [0, 0], optionTexts = [] } = command;
  const words = args.words.slice(name.split(' ').length);
  if (words.length < fewest || words.length > most) {
    throw new CtlFailure(CTL_EXITS.usage, `usage: ${`${name} ${synopsis}`.trimEnd()}`);
  }
  refuseOtherOptions(args, name, optionTexts);
  return words;
}

async function outputOf({ name, hasNames = false }: CtlCommand, args: CtlArguments): Promise<OutputFormat> {
  const output = parseOutputFormat(textOption(args, 'output'));
  if (output !== 'name' || hasNames) return output;
  const others = (await loadAllCommands()).commandsWithNames();
  throw new CtlFailure(CTL_EXITS.usage, `-o name: ${name} lists no names; ${others.join(', ')} do`);
}

/** Loads all commands, with the actions and reports that they use, which `status` does without. */
async function loadAllCommands(): Promise<typeof allCommands> {
  return await import('./all-commands.ts');
}
