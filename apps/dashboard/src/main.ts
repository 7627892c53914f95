/** The dashboard's first line. */

import { mount } from "svelte";
import App from "./App.svelte";
import "./theme.css";

const target = document.getElementById("app");
if (target !== null) mount(App, { target });
