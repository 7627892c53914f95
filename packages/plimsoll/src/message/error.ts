/** The only error class. It has a code to branch on, fields to show, and a sentence that says what to do. */

/** Every deliberate failure of Plimsoll. Codes are part of the API: a code never changes its meaning. */
export type ErrorCode =
  | "BODY_INVALID"
  | "BODY_TOO_DEEP"
  | "BODY_TOO_LARGE"
  | "BREAKER_FAILED"
  | "CLIENT_LEFT"
  | "CLOSED"
  | "CONFIG_INVALID"
  | "CONFIG_CHANGED"
  | "DEGRADED"
  | "FORBIDDEN"
  | "HANDLE_UNKNOWN"
  | "INTERNAL"
  | "LISTEN_FAILED"
  | "METHOD_NOT_ALLOWED"
  | "NOT_FOUND"
  | "NOTHING_TO_DO"
  | "OVERLOADED"
  | "POINT_UNKNOWN"
  | "RECOVERY_TRIGGERED"
  | "SERVICE_RUNNING"
  | "SESSION_UNKNOWN"
  | "STORE_CONFLICT"
  | "STORE_CORRUPT"
  | "STORE_FAILED"
  | "STORE_NEWER"
  | "TOKEN_LIMIT_EXCEEDED"
  | "TOKENIZER_UNKNOWN"
  | "UNAUTHORIZED"
  | "UNSUPPORTED_MEDIA_TYPE"
  | "UPSTREAM_FAILED"
  | "UPSTREAM_TIMEOUT"
  | "USAGE";

export interface ErrorDetails {
  /** HTTP status of the server's answer. Default: 500. */
  readonly status?: number;
  readonly fields?: Readonly<Record<string, string | number | boolean>>;
  readonly cause?: unknown;
}

export class PlimsollError extends Error {
  /** Identifies the class even if two copies of the package are loaded in one process, where `instanceof` fails. */
  readonly isPlimsollError = true;
  readonly code: ErrorCode;
  readonly status: number;
  readonly fields: Readonly<Record<string, string | number | boolean>>;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "PlimsollError";
    this.code = code;
    this.status = details.status ?? 500;
    this.fields = details.fields ?? {};
  }

  static is(value: unknown): value is PlimsollError {
    return typeof value === "object" && value !== null && "isPlimsollError" in value;
  }
}

/** The message of any thrown value, for logs and events. */
export function errorMessage(value: unknown): string {
  return value instanceof Error ? value.message : String(value);
}
