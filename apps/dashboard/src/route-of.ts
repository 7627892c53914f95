/** The pages of the dashboard, and the code that reads their addresses. */

export type Route =
  | { readonly page: "overview" | "errors" | "settings" | "unknown" }
  /** One task or ticket, or a tab of the list. */
  | { readonly page: "tasks" | "tickets"; readonly id?: string; readonly tab?: string }
  | { readonly page: "session"; readonly id: string; readonly tab?: string };

export function routeOf(hash: string): Route {
  const [area = "", id = "", tab = ""] = hash
    .replace(/^#\/?/, "")
    .split("/")
    .map((part) => decoded(part));
  if (area === "") return { page: "overview" };
  if (area === "errors" || area === "settings") return { page: area };
  if (area === "tasks" || area === "tickets")
    return { page: area, ...(/\d$/.test(id) ? { id } : id === "" ? {} : { tab: id }) };
  if (area === "session" && id !== "")
    return { page: "session", id, ...(tab === "" ? {} : { tab }) };
  return { page: "unknown" };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
