import type { Problem } from '../../contract/problems/problem-schema.ts';

/** The exit codes of `slipway ctl`, which scripts may rely on. */
export const CTL_EXITS = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  denied: 4,
  unavailable: 5,
  unfinished: 6,
  partly: 7,
  interrupted: 130,
} as const;

/** The meaning of each exit code, in the order of the codes. */
export const CTL_EXIT_TEXTS: Readonly<Record<keyof typeof CTL_EXITS, string>> = {
  ok: 'Success. For `status`: the official release is distributable. For `doctor`: no check is failing.',
  failed:
    'The daemon rejected the action, the task failed or was cancelled, the release is not distributable, or a check of `doctor` is failing.',
  usage: 'The arguments, the parameters or the body are invalid, or the token cannot be read.',
  unreachable:
    'The service did not answer, or not as Slipway does: it is down, the address is wrong, or the port cannot be forwarded.',
  denied: 'The token is missing or wrong, or control is not exposed.',
  unavailable:
    'The service answered, but its daemon is unavailable or does not implement the command, or the token has reached a limit. An action may or may not have started.',
  unfinished: 'Timed out waiting; the task is still running.',
  partly:
    'The run of workers came to its end and left texts open that its provider could translate; its result names the reasons. One that translated nothing has failed: 1.',
  interrupted: 'Ctrl-C or SIGTERM.',
};

/** One of the exit codes. */
export type CtlExit = (typeof CTL_EXITS)[keyof typeof CTL_EXITS];

/** A command failed; the message is for people and says what to do. */
export class CtlFailure extends Error {
  readonly exit: CtlExit;
  /** The code of the daemon's answer, else of the service's; `null` when there was none. */
  readonly code: string | null;
  /** How long the service asks to wait before the next call, milliseconds; `null` when it does not. */
  readonly retryAfterMs: number | null;

  constructor(
    exit: CtlExit,
    message: string,
    {
      code = null,
      retryAfterMs = null,
      ...options
    }: ErrorOptions & { readonly code?: string | null; readonly retryAfterMs?: number | null } = {},
  ) {
    super(message, options);
    this.name = 'CtlFailure';
    this.exit = exit;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

const REJECTED = 'daemon_rejected';

const EXIT_OF_STATUS: Readonly<Record<number, CtlExit>> = {
  401: CTL_EXITS.denied,
  403: CTL_EXITS.denied,
  409: CTL_EXITS.failed,
  429: CTL_EXITS.unavailable,
  501: CTL_EXITS.unavailable,
  503: CTL_EXITS.unavailable,
};

/**
 * Turns a problem answer of the service into a failure.
 *
 * @param retryAfterMs for which the answer asks to wait
 */
export function failureOfProblem(problem: Problem, retryAfterMs: number | null = null): CtlFailure {
  const { status, code, detail, errors, instance } = problem;
  const lines = [
    `${detail} (${sourceOf(problem)})`,
    ...(errors ?? []).map(({ pointer, message }) => `  ${pointer === '' ? 'body' : pointer}: ${message}`),
  ];
  // The id finds the cause in a log; a rejection states it here.
  if (status >= 500 && code !== REJECTED) lines.push(`  request id: ${instance}`);
  return new CtlFailure(exitOfProblem(status, code), lines.join('\n'), {
    code: problem.daemon?.code ?? code,
    retryAfterMs,
  });
}

/** A rejection is named by the daemon's own status: with the 502 around it, it reads like an outage. */
function sourceOf({ status, code, daemon }: Problem): string {
  const daemonCode = daemon?.code ?? null;
  if (daemonCode === null) return `${status} ${code}`;
  if (code === REJECTED && typeof daemon?.status === 'number')
    return `daemon: ${daemon.status} ${daemonCode}`;
  return `${status} ${code}, daemon: ${daemonCode}`;
}

/**
 * Turns a 401 into a failure that says which token is missing or wrong. Without a
 * token, the detail of the service is for authors of requests.
 */
export function deniedFailure(
  base: string,
  hasToken: boolean,
  { status, code, detail }: Problem,
): CtlFailure {
  const sources =
    '--token-file FILE, --token-secret NAME/KEY, the context, or without a context SLIPWAY_CTL_TOKEN_FILE or SLIPWAY_CTL_TOKEN';
  const message = hasToken
    ? `${base} rejects the admin token; check that it is the one of this service, from ${sources}`
    : `${base} needs an admin token, and none is set; give one with ${sources}`;
  return new CtlFailure(CTL_EXITS.denied, `${message} (${status} ${code})${hasToken ? `: ${detail}` : ''}`);
}

function exitOfProblem(status: number, code: string): CtlExit {
  // A rejection is an answer of the daemon; any other 502 means that there was none.
  if (status === 502) return code === REJECTED ? CTL_EXITS.failed : CTL_EXITS.unavailable;
  return EXIT_OF_STATUS[status] ?? (status < 500 ? CTL_EXITS.usage : CTL_EXITS.unreachable);
}

/** Reads something. @returns `null` while the daemon is unavailable. @throws CtlFailure */
export async function whileAvailable<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CtlFailure && error.exit === CTL_EXITS.unavailable) return null;
    throw error;
  }
}

/** Whether a retry may help, because the daemon or the service may be restarting. */
export function isTransient(error: unknown): boolean {
  return (
    error instanceof CtlFailure &&
    (error.exit === CTL_EXITS.unavailable || error.exit === CTL_EXITS.unreachable)
  );
}
