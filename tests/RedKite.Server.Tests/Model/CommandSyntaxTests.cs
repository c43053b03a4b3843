using RedKite.Server.Model;

namespace RedKite.Server.Tests.Commands;

public class CommandSyntaxTests
{
    [Theory]
    [InlineData("", "")]
    [InlineData("key value", "key:Key#0 value:String")]
    [InlineData("key newkey", "key:Key#0 newkey:Key#1")]
    [InlineData("key1 key2 key", "key1:Key#0 key2:Key#1 key:Key#1")]
    [InlineData("name:integer other:double at:unix-time a:pattern", "name:Integer other:Double at:UnixTime a:Pattern")]
    [InlineData("ip:port", "ip:port:String")]
    [InlineData("destination:key#2 pattern:pattern#1", "destination:Key#2 pattern:Pattern#1")]
    [InlineData("by-pattern{pattern}:pattern#1 address{ip:port}@6.2.0", "by-pattern{pattern}:Pattern#1 address{ip:port}:String@6.2.0")]
    [InlineData("[STORE storekey{key}:key#1]", "storekey{key}:Key#1=STORE?")]
    [InlineData("[GET]", "get:PureToken=GET?")]
    [InlineData("[sorting:ALPHA] id:*", "sorting:PureToken=ALPHA? id:PureToken=*")]
    [InlineData("EX seconds", "seconds:Integer=EX")]
    [InlineData("[LIMIT offset count]", "offset_count:Block=LIMIT?(offset:Integer count:Integer)")]
    [InlineData("LIMIT limit:(offset count)", "limit:Block=LIMIT(offset:Integer count:Integer)")]
    [InlineData("block:[GET encoding offset [GET encoding offset ...]]", "block:Block=GET?**(encoding:String offset:Integer)")]
    [InlineData("<BY radius> unit", "radius:Double=BY unit:String")]
    [InlineData("<LEFT | RIGHT>", "left_right:OneOf(left:PureToken=LEFT right:PureToken=RIGHT)")]
    [InlineData("condition:[NX|XX]", "condition:OneOf?(nx:PureToken=NX xx:PureToken=XX)")]
    [InlineData("[TYPE type:<A | B>]", "type:OneOf=TYPE?(a:PureToken=A b:PureToken=B)")]
    [InlineData("key [key ...]", "key:Key#0*")]
    [InlineData("[key ...]", "key:Key#0?*")]
    [InlineData("key value [key value ...]", "key_value:Block*(key:Key#0 value:String)")]
    [InlineData("data:<key value [key value ...]>", "data:Block*(key:Key#0 value:String)")]
    [InlineData("[GET pattern [GET pattern ...]]", "pattern:Pattern=GET?**")]
    [InlineData("[WEIGHTS weight [weight ...]]", "weight:Integer=WEIGHTS?*")]
    [InlineData("(name ...) [ID id:(name [name ...])]", "name:Block*(name:String) id:Block=ID?(name:String*)")]
    [InlineData("filter:<A | B b ...>", "filter:OneOf*(a:PureToken=A b:String=B)")]
    [InlineData("[GET]@6.2.0 <EX seconds@2.6.12 | name@!3.0.0>", "get:PureToken=GET?@6.2.0 seconds_name:OneOf(seconds:Integer=EX@2.6.12 name:String@!3.0.0)")]
    [InlineData("key_or_empty:<key | empty:\"\">", "key_or_empty:OneOf(key:Key#0 empty:PureToken=)")]
    public void Documented_command_line_lists_its_arguments(string syntax, string arguments) =>
        Assert.Equal(arguments, Text(CommandSyntax.Parse(syntax, keySpecs: 2)));

    [Theory]
    [InlineData("[key")]
    [InlineData("key]")]
    [InlineData("<A | B")]
    [InlineData("name{text")]
    public void Mistake_in_the_notation_is_reported(string syntax) =>
        Assert.Throws<FormatException>(() => CommandSyntax.Parse(syntax, keySpecs: 1));

    [Fact]
    public void Every_row_follows_the_notation()
    {
        foreach (Command command in CommandRows.Table.All.SelectMany(command => command.Subcommands.Prepend(command)))
        {
            Assert.All(command.Arguments, argument => Assert.NotEmpty(argument.Name));
        }
    }

    private static string Text(CommandArgument[] arguments) => string.Join(' ', arguments.Select(Text));

    private static string Text(CommandArgument argument) =>
        $"{argument.Name}{(argument.DisplayText.Length > 0 ? $"{{{argument.DisplayText}}}" : "")}:{argument.Type}"
        + (argument.KeySpec >= 0 ? $"#{argument.KeySpec}" : "")
        + (argument.Token is null ? "" : $"={argument.Token}")
        + (argument.IsOptional ? "?" : "")
        + (argument.IsMultiple ? "*" : "")
        + (argument.RepeatsToken ? "*" : "")
        + (argument.Since.Length > 0 ? $"@{argument.Since}" : "")
        + (argument.DeprecatedSince.Length > 0 ? $"@!{argument.DeprecatedSince}" : "")
        + (argument.Arguments.Length > 0 ? $"({Text(argument.Arguments)})" : "");
}
