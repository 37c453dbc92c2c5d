// Markup as tagged templates: no build step, no eval.
import { h, render, Fragment } from "preact";
import htm from "htm";

export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { h, render, Fragment };
export const html = htm.bind(h);
