/** Tells a remark that people leave at a task from the other reasons that its field `reason` has. */
const PREFIX = 'remark: ';

/** The reason of a task that is a remark. @param text what people say, with their names */
export function reasonOfRemark(text: string): string {
  return `${PREFIX}${text}`;
}

/** What people say at a task; `null` when its reason is no remark. */
export function remarkOf(reason: string | null): string | null {
  return reason?.startsWith(PREFIX) === true ? reason.slice(PREFIX.length) : null;
}

/** The reason of a task after a decision. A remark stays until somebody gives another reason, or takes it away. */
export function reasonAfter(before: string | null, given: string | null): string | null {
  return given ?? (remarkOf(before) === null ? null : before);
}
