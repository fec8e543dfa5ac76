import type { ControlAction } from '../../contract/actions/actions.ts';
import type { Logger } from '../../platform/logging/logging.ts';

/** Facts of a control call, for its audit line; `null` where the call failed before. */
export interface ControlAudit {
  tokenId: string | null;
  /** A name of the allowlist, never the caller's text. */
  action: ControlAction | null;
  /** SHA-256 of the validated body as forwarded. */
  argsDigest: string | null;
  taskId: string | null;
}

/** Starts the audit of a call. */
export function beginControlAudit(): ControlAudit {
  return { tokenId: null, action: null, argsDigest: null, taskId: null };
}

/** The answer to a control call. */
export interface ControlResult {
  readonly status: number;
  /** The problem code of a refusal. */
  readonly code: string | null;
  readonly requestId: string;
}

/**
 * Makes the function that writes one audit line for every control call, including refused calls. The line contains
 * neither the token nor any text of the body. It is written at every log level except silent.
 */
export function createControlAuditLog(logger: Logger): (audit: ControlAudit, result: ControlResult) => void {
  const level = logger.level === 'silent' ? 'silent' : 'info';
  const lines = logger.child({ audit: 'control' }, { level });
  return (audit, result) => {
    lines.info(
      {
        token_id: audit.tokenId,
        action: audit.action,
        args_digest: audit.argsDigest,
        status: result.status,
        code: result.code,
        task_id: audit.taskId,
        request_id: result.requestId,
      },
      'control call',
    );
  };
}
