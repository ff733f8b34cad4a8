// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace minja {
class Context;
}

namespace kvscope {

/// Gives a context the filters ("| upper"), tests ("is odd") and methods of strings ("str.upper") of Jinja that chat templates use, as
/// Jinja has them, under names that no variable of a template has; the clock, too.
void add_chat_functions(minja::Context& context);

}  // namespace kvscope
