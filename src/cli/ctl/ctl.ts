import { isControlAction } from '../../contract/actions/actions.ts';
import { didYouMean } from '../../platform/terminal/usage-error.ts';
import { createAdminApi } from './admin-api.ts';
import { applyContext, type AppliedContext } from './contexts/apply-context.ts';
import type { ClusterAccess } from './cluster/cluster-access.ts';
import type { PortForward } from './cluster/port-forward.ts';
import {
  CTL_COMMANDS,
  ctlCommandsOf,
  findCtlCommand,
  renderCtlHelp,
  renderGroupHelp,
} from './ctl-commands.ts';
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
import { secretOf, targetOf, warnOfPlainHttp } from './ctl-target.ts';
import { keepAlive } from '../../platform/process/keep-alive.ts';
import { checkToken, readToken } from '../read-token.ts';
import { parseOutputFormat, type OutputFormat, choosePainter } from './output/view.ts';
import { watchCommand } from './watch.ts';

/**
 * Runs `slipway ctl`: reads reports and starts actions through the admin surface of a running service.
 *
 * @param argv the command line after `ctl`
 * @returns the exit code, one of {@link CTL_EXITS}
 */
export async function runCtl(argv: readonly string[], io: CtlIo, program: CtlProgram): Promise<number> {
  try {
    return await keepAlive(async () => await run(argv, io, program));
  } catch (error) {
    if (io.signal.aborted) return CTL_EXITS.interrupted;
    if (!(error instanceof CtlFailure)) throw error;
    const hint = error.exit === CTL_EXITS.usage ? `\nFor help: ${program.name}${helpWords(argv)} --help` : '';
    io.stderr.write(`${program.name}: ${error.message}${hint}\n`);
    return error.exit;
  }
}

/** The command in a command line that may be wrong, with the action of `run`, for the hint at its help. */
function helpWords(argv: readonly string[]): string {
  const command = argv.map((_word, at) => findCtlCommand(argv.slice(at))).find((found) => found !== null);
  if (command === undefined) return '';
  const action = command.name === 'run' ? argv.find(isControlAction) : undefined;
  return ` ${command.name}${action === undefined ? '' : ` ${action}`}`;
}

async function run(argv: readonly string[], io: CtlIo, program: CtlProgram): Promise<CtlExit> {
  const args = parseCtlArguments(argv);
  const isHelpCommand = args.words[0] === 'help';
  const words = isHelpCommand ? args.words.slice(1) : args.words;
  const command = findCtlCommand(words);
  if (args.values.version === true) {
    io.stdout.write(`${program.name} ${program.version}\n`);
    return CTL_EXITS.ok;
  }
  if (args.values.help === true || isHelpCommand) {
    io.stdout.write(helpOf(words, command, program));
    return CTL_EXITS.ok;
  }
  if (command === null) throw unknownCommand(words);
  const commandWords = wordsOf(command, args);
  const painter = choosePainter(textOption(args, 'color'), io.env, io.stdout.isTTY === true);
  const surroundings = { ...io, words: commandWords, painter, program };
  if (command.isLocal === true) {
    return await command.run({ ...surroundings, args, output: outputOf(command, args) });
  }
  const applied = await applyContext(args, io, program);
  const output = outputOf(command, applied.args);
  return await askService(command, { ...surroundings, args: applied.args, output }, applied);
}

async function askService(
  command: ServiceCommand,
  local: LocalContext,
  { token: stored, isContext }: AppliedContext,
): Promise<CtlExit> {
  const { args, program, signal, env, clock } = local;
  const timeoutMs = numberOption(args, 'timeout', TIMEOUT_SECONDS) * 1000;
  const target = targetOf(args, local, program);
  const secret = secretOf(args);
  const cluster = target.service === null && secret === null ? null : await openClusterOf(args, local);
  let forward: PortForward | null = null;
  try {
    const token =
      secret === null
        ? await tokenOf(args, stored, isContext ? {} : env)
        : ((await cluster?.readTokenSecret(secret)) ?? null);
    if (target.service !== null) forward = (await cluster?.forward(target.service)) ?? null;
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

/** The token of `--token-file`, else of the context, else of the environment; `null` for none. @throws CtlFailure */
async function tokenOf(
  args: CtlArguments,
  stored: AppliedContext['token'],
  env: CtlIo['env'],
): Promise<string | null> {
  const file = textOption(args, 'token-file');
  const read =
    file === undefined && stored !== null
      ? checkToken(stored.text, stored.origin)
      : await readToken(file, env, 'SLIPWAY_CTL');
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

function helpOf(words: readonly string[], command: CtlCommand | null, program: CtlProgram): string {
  const [first = ''] = words;
  if (command === null && words.length === 1 && ctlCommandsOf(first).length > 0) {
    return renderGroupHelp(program.name, first);
  }
  if (command === null && words.length > 0) throw unknownCommand(words);
  const after = words.slice(command?.name.split(' ').length);
  return command?.helpFor?.(after, program) ?? renderCtlHelp(program.name, command);
}

function unknownCommand(words: readonly string[]): CtlFailure {
  const [first = '', second = ''] = words;
  if (first === '') return new CtlFailure(CTL_EXITS.usage, 'a command is missing');
  const group = ctlCommandsOf(first).map(({ name }) => name);
  const names = group.length > 0 ? group : CTL_COMMANDS.map(({ name }) => name);
  const written = group.length > 0 ? `${first} ${second}`.trimEnd() : first;
  if (group.length > 0 && second === '') {
    return new CtlFailure(CTL_EXITS.usage, `"${first}" needs one more word: ${group.join(', ')}`);
  }
  // A mistyped first word of two is close to that word, not to both.
  const firsts = names.map((name) => name.split(' ')[0] ?? '');
  const hint = didYouMean(written, names) || didYouMean(written, firsts);
  return new CtlFailure(CTL_EXITS.usage, `there is no command "${written}"${hint}`);
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

function outputOf({ name, hasNames = false }: CtlCommand, args: CtlArguments): OutputFormat {
  const output = parseOutputFormat(textOption(args, 'output'));
  if (output !== 'name' || hasNames) return output;
  const others = CTL_COMMANDS.filter((each) => each.hasNames === true).map((each) => each.name);
  throw new CtlFailure(CTL_EXITS.usage, `-o name: ${name} lists no names; ${others.join(', ')} do`);
}
