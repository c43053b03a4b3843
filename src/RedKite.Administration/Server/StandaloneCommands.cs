using RedKite.Server.Commands.Arguments;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>The replies about modules of a server that loads none, and ROLE.</summary>
internal sealed class StandaloneCommands(ServerLog log, ReplicationInfo replication)
{
    private const CommandFlags ModuleFlags = Admin | NoScript | NoAsyncLoading | Protected;

    internal CommandFamily Family => new("server", "",
    [
        new("ROLE", 1, NoScript | Loading | Stale | Fast, KeySpecs.None, Role, new("2.8.12", "O(1)", "Returns the server's role in replication.")) { Categories = AclCategory.Admin | AclCategory.Dangerous },
        new("MODULE", -2, None, KeySpecs.None, ModuleHelp, new("4.0.0", "Depends on subcommand.", "A container for commands on modules, of which there is one: vector sets."),
        [
            new("HELP", 2, Loading | Stale, KeySpecs.None, ModuleHelp, new("5.0.0", "O(1)", "Lists the subcommands.")),
            new("LIST", 2, Admin | NoScript, KeySpecs.None, ModuleList, new("4.0.0", "O(N) where N is the number of loaded modules.", "Lists the loaded modules: vector sets, which are a part of the server.")) { Tips = ["nondeterministic_output_order"] },
            new("LOAD", -3, ModuleFlags, KeySpecs.None, ModuleLoad, new("4.0.0", "O(1)", "Fails: modules cannot be loaded.", "path [arg ...]")) { Gate = settings => settings.EnableModuleCommand },
            new("LOADEX", -3, ModuleFlags, KeySpecs.None, ModuleLoad, new("7.0.0", "O(1)", "Fails: modules cannot be loaded.", "path configs:[CONFIG name value [CONFIG name value ...]] [ARGS args [args ...]]")) { Gate = settings => settings.EnableModuleCommand },
            new("UNLOAD", 3, ModuleFlags, KeySpecs.None, ModuleUnload, new("4.0.0", "O(1)", "Fails: modules cannot be loaded.", "name")) { Gate = settings => settings.EnableModuleCommand },
        ]),
    ]);

    // ROLE
    private void Role(ref CommandContext cmd) => replication.Role(cmd);

    // MODULE LIST
    private static void ModuleList(ref CommandContext cmd) => ServerModule.ReplyList(cmd.Reply);

    // MODULE LOAD path [arg ...]
    // MODULE LOADEX path [CONFIG name value ...] [ARGS args ...]
    private void ModuleLoad(ref CommandContext cmd)
    {
        log.Warning(LogEvents.ModuleRefused, "MODULE LOAD: RedKite loads no modules.");
        cmd.Reply.Error("ERR Error loading the extension. Please check the server logs."u8);
    }

    // MODULE UNLOAD name
    private static void ModuleUnload(ref CommandContext cmd)
    {
        if (ServerModule.Find(cmd[2]) is not null) cmd.Reply.Error("ERR Error unloading module: the module can't be unloaded"u8);
        else cmd.Reply.Error("ERR Error unloading module: no such module with that name"u8);
    }

    // MODULE HELP
    private static void ModuleHelp(ref CommandContext cmd) => HelpReply.Write(cmd, "LIST", "    List the loaded modules: vector sets, which are a part of the server.");
}
